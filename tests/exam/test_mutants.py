"""What a mutant must be, besides caught: a small override, alive, and taken from life.

That the requirement it names catches it, in a Case the honest client passes, and that nothing else does there, is what
`test_both_ways.py` shows.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import pairwise

import pytest

from assay_conformance.model.event import Completion, Outcome, Received
from assay_conformance.model.requirement import Side
from assay_conformance.model.verdict import Verdict
from assay_conformance.pulsar.mutants import mutants, name_of
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import ReferenceTrial, Tried

PACK = load_packs()
PLAIN = next(case for case in PACK.cases if case.id == "ordering/pipelined-sends")
"""Thirty messages sent, stored, received; no fault."""

PUBLIC_BUG = re.compile(
    r"(apache/pulsar|pulsar-client-(cpp|go|python|node|dotnet)|pulsar-rs)#\d+|DotPulsar \d+\.\d+\.\d+"
)
LEAST_PUBLIC = 15

HONEST = ("assay_conformance.client.", "assay_conformance.broker.")
CLIENTS = [name for name, mutant in mutants().items() if mutant.side is Side.CLIENT]

NEEDS_NO_FAULT = frozenset({"initial-position-not-passed-on"})
"""Mutants that get less in any Case: the consumers of all Cases but a few begin at the earliest message."""
WITHOUT_LOSS = [name for name in CLIENTS if name not in NEEDS_NO_FAULT]


@cache
def _plain(*names: str) -> Tried:
    return ReferenceTrial(mutants=frozenset(names)).in_virtual_time(PLAIN)


# --- what it is -------------------------------------------------------------------------------------------------------


def test_mutants_stand_where_the_requirement_that_they_break_says() -> None:
    astray = []
    for name, mutant in mutants().items():
        place = mutant.overrides[0].__module__.removeprefix("assay_conformance.pulsar.mutants.").split(".")
        if place[0] != mutant.breaks[0].partition(".")[0].replace("-", "_"):
            astray.append(name)
    assert astray == []


def test_mutants_break_requirements_that_are_judged() -> None:
    assert [name for name, mutant in mutants().items() if not set(mutant.breaks) <= set(PACK.checks)] == []


def test_mutants_say_what_they_do_and_what_they_stand_for() -> None:
    silent = [name for name, one in mutants().items() if not one.does.endswith(".") or not one.stands_for]
    assert silent == []


def test_mutants_override_honest_classes_alone() -> None:
    """Two overrides that derive from each other would not compose with a third."""
    bases = {override: override.__bases__ for mutant in mutants().values() for override in mutant.overrides}
    other = [override for override, (*those,) in bases.items() if not _is_honest(*those)]
    assert other == []


def _is_honest(*bases: type) -> bool:
    return len(bases) == 1 and bases[0].__module__.startswith(HONEST)


def test_no_class_is_an_override_of_two_mutants() -> None:
    used = Counter(override for mutant in mutants().values() for override in mutant.overrides)
    assert [name_of(override) for override, times in used.items() if times > 1] == []


def test_many_stand_for_bugs_that_anybody_can_look_up() -> None:
    public = {name for name, mutant in mutants().items() if PUBLIC_BUG.search(mutant.stands_for)}
    assert len(public) >= LEAST_PUBLIC


# --- that it is alive -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLIENTS)
def test_mutant_passes_a_case_without_faults(name: str) -> None:
    tried = _plain(name)
    own = {j.requirement: j.verdict for j in tried.judgements if j.requirement in PLAIN.requirements}
    assert set(own.values()) == {Verdict.PASS}


@pytest.mark.few(120)
@pytest.mark.parametrize("name", WITHOUT_LOSS)
def test_mutant_does_a_case_without_faults_as_well_as_the_honest_client(name: str) -> None:
    assert _done(_plain(name)) == _done(_plain())


@pytest.mark.few(120)
@pytest.mark.parametrize(("one", "other"), list(pairwise(WITHOUT_LOSS)))
def test_two_mutants_at_once_do_a_case_without_faults(one: str, other: str) -> None:
    assert _done(_plain(one, other)) == _done(_plain())


def _done(tried: Tried) -> tuple[Counter[tuple[str, Outcome]], list[int]]:
    """How operations ended, and which messages arrived, in order."""
    ends = Counter((event.verb, event.outcome) for event in tried.events if isinstance(event, Completion))
    return ends, [event.digest for event in tried.events if isinstance(event, Received)]
