from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from assay_conformance.history.events import grouped
from assay_conformance.ledger.clauses import ORDERED_TYPES
from assay_conformance.model.event import Position, Received
from assay_conformance.pulsar.checks.ordering._handed_over import (
    Reading,
    Returns,
    came,
    place,
    readings,
    restarts,
)
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms

_Times = dict[Position, list[int]]
"""Entry -> when it came, in order."""


@check("ordering.delivers-in-message-id-order", of=lambda timeline: readings(timeline, *ORDERED_TYPES))
def delivers_in_message_id_order(timeline: Timeline, reading: Reading) -> Says:
    """ordering.delivers-in-message-id-order: ids increase from message to message of a partition, and inside an entry
    by batch index.

    They may go back once for each of these reasons: a new registration, a request for redelivery, a seek, and a MESSAGE
    that was sent after a later one; and only to an entry that came after the one it is received after.
    """
    evidence: tuple[Returns, _Times] | None = None
    for before, event in pairwise(reading.messages):
        if place(event) > place(before):
            yield Exercised(event)
            continue
        evidence = evidence or _evidence(timeline, reading)
        returns, times = evidence
        if not returns.allow(event, where=_came_behind(times, event, before)):
            consumer = reading.consumer
            yield breach(
                "delivered-out-of-order",
                f"consumer {consumer.handle} ({consumer.subscription}) received {event.message_id.full_name} of "
                f"{reading.topic} at {ms(event.t_ns)}, after {before.message_id.full_name} at {ms(before.t_ns)}; "
                "expected increasing ids, since there was no redelivery, seek or reconnect",
                *(before, event),
            )


def _evidence(timeline: Timeline, reading: Reading) -> tuple[Returns, _Times]:
    """Return how often ids may go back, and when each entry came."""
    frames = list(came(timeline, reading))
    found = grouped((frame for _, frame in frames), lambda frame: frame.ids[0].position)
    times = {position: sorted(frame.seq for frame in its) for position, its in found.items()}
    return Returns(restarts(timeline, reading), frames), times


def _came_behind(times: _Times, event: Received, before: Received) -> bool:
    """Return whether the entry of a message came after that of the one received before it, as far as is known."""
    first, again = (times.get(one.message_id.position, []) for one in (before, event))
    by_then = bisect_left(again, event.seq)
    return not by_then or not bisect_left(first, event.seq) or again[by_then - 1] > first[0]
