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


@cache
def _plain(*names: str) -> Tried:
    return ReferenceTrial(mutants=frozenset(names)).in_virtual_time(PLAIN)


# --- what it is -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", mutants())
def test_a_mutant_stands_where_the_requirement_that_it_breaks_says(name: str) -> None:
    mutant = mutants()[name]
    chapter = mutant.breaks[0].partition(".")[0].replace("-", "_")
    place = mutant.overrides[0].__module__.removeprefix("assay_conformance.pulsar.mutants.").split(".")
    assert place[0] == chapter


@pytest.mark.parametrize("name", mutants())
def test_a_mutant_breaks_requirements_that_are_judged(name: str) -> None:
    assert set(mutants()[name].breaks) <= set(PACK.checks)


@pytest.mark.parametrize("name", mutants())
def test_a_mutant_says_what_it_does_and_what_it_stands_for(name: str) -> None:
    mutant = mutants()[name]
    assert mutant.does.endswith(".")
    assert mutant.stands_for


@pytest.mark.parametrize("name", mutants())
def test_a_mutant_overrides_honest_classes_alone(name: str) -> None:
    """Two overrides that derive from each other would not compose with a third."""
    for override in mutants()[name].overrides:
        assert [base.__module__.startswith(HONEST) for base in override.__bases__] == [True]


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


@pytest.mark.parametrize("name", CLIENTS)
def test_mutant_does_a_case_without_faults_as_well_as_the_honest_client(name: str) -> None:
    assert _done(_plain(name)) == _done(_plain())


@pytest.mark.parametrize(("one", "other"), list(pairwise(CLIENTS)))
def test_two_mutants_at_once_do_a_case_without_faults(one: str, other: str) -> None:
    assert _done(_plain(one, other)) == _done(_plain())


def _done(tried: Tried) -> tuple[Counter[tuple[str, Outcome]], list[int]]:
    """How operations ended, and which messages arrived, in order."""
    ends = Counter((event.verb, event.outcome) for event in tried.events if isinstance(event, Completion))
    return ends, [event.digest for event in tried.events if isinstance(event, Received)]
