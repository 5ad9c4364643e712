"""Limits on the size of messages: the broker's, and what a client does without chunking."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

from assay_conformance.model.event import Completion, ErrorClass, Event, Outcome
from assay_conformance.pulsar.timeline import Timeline

_OTHER_ERRORS = (ErrorClass.CLOSED, ErrorClass.FENCED, ErrorClass.QUEUE_FULL, ErrorClass.TERMINATED)
"""Errors of the queue or the producer that end a send before its size is checked."""


def ended_unmeasured(timeline: Timeline, end: Completion) -> bool:
    """Return whether this send ended because of its queue or its producer.

    One that waits for room when its producer is closed is interrupted, which has no error class of its own; and what is
    sent with a producer that did not open, or opens at its first use, may end as the opening did.
    """
    handle = -1 if end.handle is None else end.handle
    closing = timeline.closing(handle)
    is_interrupted = end.error is ErrorClass.OTHER and closing is not None and closing.seq < end.seq
    is_open = handle in timeline.opened_producers and not timeline.opens_lazily(handle)
    return is_interrupted or end.error in _OTHER_ERRORS or (end.outcome is not Outcome.OK and not is_open)


class HighestLimit:
    """The highest limit that any broker had announced: a unit that waits for a reconnect keeps its chunks."""

    def __init__(self, timeline: Timeline) -> None:
        handshakes = sorted(timeline.handshakes, key=lambda one: one.connected.seq)
        self._seqs = [one.connected.seq for one in handshakes]
        limits = (one.max_message_bytes or timeline.topology.max_message_bytes for one in handshakes)
        self._limits = [*accumulate(limits, max)]

    def before(self, event: Event) -> int:
        """Return the highest limit by an event; 0 where none had been announced."""
        place = bisect_left(self._seqs, event.seq)
        return self._limits[place - 1] if place else 0
