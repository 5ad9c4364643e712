from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from assay_conformance.ledger.clauses import ORDERED_TYPES
from assay_conformance.model.event import FORGED, Position, Received
from assay_conformance.pulsar.checks.ordering._handed_over import Reading, came, describe, place, readings, restarts
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


@check("ordering.delivers-in-message-id-order", of=lambda timeline: readings(timeline, *ORDERED_TYPES))
def delivers_in_message_id_order(timeline: Timeline, reading: Reading) -> Says:
    """ordering.delivers-in-message-id-order: ids increase from message to message of a partition, and inside an entry
    by batch index.

    They may go back once for each of these reasons: a new registration, a request for redelivery, a seek, and a MESSAGE
    that was sent after a later one; and only to an entry that came after the one it is received after.
    """
    returns: _Returns | None = None
    for before, event in pairwise(reading.messages):
        if place(event) > place(before):
            yield Exercised(event)
            continue
        returns = returns or _Returns(timeline, reading)
        if not returns.allow(before, event):
            consumer = reading.consumer
            yield breach(
                "delivered-out-of-order",
                f"consumer {consumer.handle} ({consumer.subscription}) received {describe(event.message_id)} of "
                f"{reading.topic} at {ms(event.t_ns)}, after {describe(before.message_id)} at {ms(before.t_ns)}; "
                "expected increasing ids, since there was no redelivery, seek or reconnect",
                *(before, event),
            )


class _Returns:
    """How often ids may go back, by when; and when each entry came."""

    def __init__(self, timeline: Timeline, reading: Reading) -> None:
        self._may = [frame.seq for frame in restarts(timeline, reading)]
        self._came: dict[Position, list[int]] = {}
        self._gone_back = 0
        furthest: dict[int, Position] = {}
        for session, frame in came(timeline, reading):
            position = frame.ids[0].position
            self._came.setdefault(position, []).append(frame.seq)
            before = furthest.get(session.request.seq)
            if before is not None and position <= before:
                self._may.append(frame.seq)
                continue
            furthest[session.request.seq] = position
            self._may += [frame.seq] if frame.fate in FORGED else []
        for times in (self._may, *self._came.values()):
            times.sort()

    def allow(self, before: Received, event: Received) -> bool:
        """Return whether ids may go back here; if so, this was one time."""
        is_left = bisect_left(self._may, event.seq) > self._gone_back
        allowed = is_left and self._came_behind(event, before)
        self._gone_back += allowed
        return allowed

    def _came_behind(self, event: Received, before: Received) -> bool:
        first = self._came.get(before.message_id.position, [])
        again = self._came.get(event.message_id.position, [])
        by_then = bisect_left(again, event.seq)
        return not by_then or not bisect_left(first, event.seq) or again[by_then - 1] > first[0]
