"""What a mutant must be, besides caught: broken in one rule, alive, and taken from life.

That the requirement it names catches it, in a Case the honest client passes, and that nothing else does there, is what
`test_both_ways.py` shows.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import assay_conformance.client
from assay_conformance.client import MUTATIONS, Mutation
from assay_conformance.model.event import Completion, Outcome, Received
from assay_conformance.model.verdict import Verdict
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import ReferenceTrial, Tried

PACK = load_packs()
PLAIN = next(case for case in PACK.cases if case.id == "ordering/pipelined-sends")
"""Thirty messages sent, stored, received; no fault."""

PUBLIC_BUG = re.compile(
    r"(apache/pulsar|pulsar-client-(cpp|go|python|node|dotnet)|pulsar-rs)#\d+|DotPulsar \d+\.\d+\.\d+"
)
LEAST_PUBLIC = 15

MORE_PLACES: dict[Mutation, str] = {
    Mutation.SENDS_BEFORE_SUCCESS: "what it sends early is new or sent again",
    Mutation.RETRIES_TERMINATED: "the word comes as the answer to a SEND or to PRODUCER",
    Mutation.DROPS_MESSAGE_ON_REPEATED_CHUNK: "chunk 0 begins a message, any other goes on with one",
    Mutation.APPENDS_REPEATED_CHUNK: "chunk 0 begins a message, any other goes on with one",
    Mutation.HANDS_OVER_ACKED: "an acknowledgment is forgotten when it is sent, and not looked for on arrival",
    Mutation.SNAPPY_FRAMED: "a codec has two directions",
    Mutation.FLOW_BEFORE_SUBSCRIBED: "what leaves early does not leave again in time",
    Mutation.SEEK_KEEPS_ACKS: "acknowledgments wait in a group and in the list of those under way",
    Mutation.HANDS_OUT_ACKED_AGAIN: "what is handed out again has to be kept first",
    Mutation.CHUNKS_HOLD_ONE_PERMIT: "the place that was not taken for a chunk is not given back for it either",
    Mutation.CHUNKED_MEMORY_UNDERFLOWS: "what is given back too often shows where memory is asked for",
    Mutation.KEYED_BATCH_TELLS_RANGE: "a range has two ends",
    Mutation.KEYED_BATCH_TELLS_LOWEST: "batches leave in the order of the ids they tell",
}
"""Mutations that the client asks about at more than one place, and why one rule is broken there all the same."""


@cache
def _places() -> Counter[str]:
    """How often the honest client's code asks about each mutation."""
    folder = Path(assay_conformance.client.__file__).parent
    sources = [path.read_text() for path in sorted(folder.glob("*.py")) if path.stem != "mutations"]
    return Counter(name for source in sources for name in re.findall(r"Mutation\.([A-Z][A-Z0-9_]*)", source))


@cache
def _plain(*mutations: Mutation) -> Tried:
    return ReferenceTrial(client=frozenset(mutations)).in_virtual_time(PLAIN)


@pytest.mark.parametrize("mutation", Mutation)
def test_mutant_differs_at_one_place_or_says_why_not(mutation: Mutation) -> None:
    assert _places()[mutation.name] == 1 or mutation in MORE_PLACES


def test_no_excuse_is_left_over() -> None:
    assert [mutation for mutation in MORE_PLACES if _places()[mutation.name] < 2] == []


@pytest.mark.parametrize("mutation", Mutation)
def test_mutant_passes_a_case_without_faults(mutation: Mutation) -> None:
    tried = _plain(mutation)
    own = {j.requirement: j.verdict for j in tried.judgements if j.requirement in PLAIN.requirements}
    assert set(own.values()) == {Verdict.PASS}


@pytest.mark.parametrize("mutation", Mutation)
def test_mutant_does_a_case_without_faults_as_well_as_the_honest_client(mutation: Mutation) -> None:
    assert _done(_plain(mutation)) == _done(_plain())


def _done(tried: Tried) -> tuple[Counter[tuple[str, Outcome]], list[int]]:
    """How operations ended, and which messages arrived, in order."""
    ends = Counter((event.verb, event.outcome) for event in tried.events if isinstance(event, Completion))
    return ends, [event.digest for event in tried.events if isinstance(event, Received)]


def test_many_stand_for_bugs_that_anybody_can_look_up() -> None:
    public = {mutation for mutation, broken in MUTATIONS.items() if PUBLIC_BUG.search(broken.stands_for)}
    assert len(public) >= LEAST_PUBLIC


def test_every_mutant_names_a_row_of_the_catalogue() -> None:
    rows = {requirement.row for requirement in PACK.catalogue.requirements.values()}
    assert {broken.row for broken in MUTATIONS.values()} - rows == set()
