"""Why a batch left: what it was waiting for came, or nothing did that it should have waited for."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

from assay_conformance.history.events import in_order
from assay_conformance.model.event import Invoke
from assay_conformance.pulsar.timeline import Send, Timeline, is_synchronous
from assay_conformance.pulsar.timeline.handlers import done_ns


def flushes(timeline: Timeline, handle: int, *verbs: str) -> list[Invoke]:
    """Return the calls of these verbs and the synchronous sends of a producer, in order."""
    sends = (send.invoke for send in timeline.sends_of(handle) if is_synchronous(timeline, send))
    return in_order([*timeline.events.invokes_of(handle, *verbs), *sends])


def between_flushes(sends: Iterable[Send], seqs: Sequence[int]) -> Iterator[list[Send]]:
    """Yield what was sent between calls, by the sequence numbers of these."""
    return (list(group) for _, group in groupby(sends, lambda send: bisect_right(seqs, send.invoke.seq)))


class FlushCalls(NamedTuple):
    """When the application asked for the open batch of a producer to leave, and how long that may have waited for its
    turn."""

    began_ns: list[int]
    latest_end_ns: list[float]

    @classmethod
    def of(cls, timeline: Timeline, handle: int) -> FlushCalls:
        began, ends = [], []
        for call in flushes(timeline, handle, "flush", "close"):
            end = timeline.end_of(call.op)
            began.append(call.t_ns)
            ends.append(math.inf if end is None else done_ns(end))
        return cls(began, list(accumulate(ends, max)))

    def between(self, since_ns: int, by_ns: int) -> bool:
        """Return whether that may have made a batch leave."""
        place = bisect_right(self.began_ns, by_ns)
        return place > 0 and self.latest_end_ns[place - 1] >= since_ns


def is_alone(send: Send) -> bool:
    """Return whether the message leaves by itself, and makes the open batch leave in front of it."""
    args = send.invoke.args
    return any(args.get(key) is not None for key in ("deliver_after_ms", "deliver_at_ms", "sequence_id"))
