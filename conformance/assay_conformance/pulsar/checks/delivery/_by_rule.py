"""What the rules of ledgers find in the rows of a history."""

from __future__ import annotations

from itertools import chain, islice

from assay_conformance.checks.base import MAX_EXAMPLES
from assay_conformance.judging.certainty import Counted, NotDecided
from assay_conformance.ledger.rules import Breach
from assay_conformance.model.event import Event, Fired, Received
from assay_conformance.pulsar.timeline import Says, Timeline, breach

MOST_EVENTS = 6
"""Events of a message that a finding names: send call, its end, stored, received, and received again."""


def by_rule(timeline: Timeline, clause: str) -> Says:
    """Yield all that the rule of a clause says."""
    yield from exercised(timeline, clause)
    for found in timeline.rows.rules[clause].breaches:
        yield breach(found.code, found.sentence, *events_of(timeline, found))
    yield from doubted(timeline, clause)


def exercised(timeline: Timeline, clause: str) -> Says:
    """Yield an exercise for each row that met the precondition."""
    times, events = timeline.rows.rules[clause].exercised(), timeline.rows.transcript.events.values()
    if times:
        received = (event for event in chain.from_iterable(events) if isinstance(event, Received))
        yield Counted(times, tuple(islice(received, MAX_EXAMPLES)))


def doubted(timeline: Timeline, clause: str) -> Says:
    """Yield what the rule could not decide, if there is such a thing."""
    doubt = timeline.rows.rules[clause].doubt
    yield from (NotDecided(doubt),) if doubt else ()


def events_of(timeline: Timeline, found: Breach) -> tuple[Event, ...]:
    """Return what the history has of the message in question, or the faults, where it is about none."""
    events = timeline.rows.transcript.events.get((found.stream, found.seq)) or timeline.events.of(Fired)
    return tuple(sorted(events, key=lambda event: event.seq)[:MOST_EVENTS])
