"""Sends that take a slot of a producer's queue."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from assay_conformance.judging.tolerance import MS
from assay_conformance.model.event import ErrorClass, Invoke
from assay_conformance.pulsar.timeline.handlers import done_ns
from assay_conformance.pulsar.timeline.producers import Send

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.timeline import Timeline

SETTLED_NS: Final = 100 * MS
"""How long before a call another send must have ended for its slot to be certainly free."""

_NEVER_NS: Final = 1 << 63


class QueuedSends:
    """The sends of one producer that a full queue did not refuse, in call order."""

    def __init__(self, sends: Iterable[Send]) -> None:
        self._sends = [send for send in sends if not _is_refused(send)]
        self._asked = [send.invoke.seq for send in self._sends]
        # The latest end so far: whatever comes before the first that is late enough has ended, too.
        self._last_end_ns = list(accumulate(map(_end_ns, self._sends), max))
        self._asked_bytes = list(accumulate(map(_size_bytes, self._sends), initial=0))
        ended = sorted(self._sends, key=_end_ns)
        self._ends_ns = list(map(_end_ns, ended))
        self._ended_bytes = list(accumulate(map(_size_bytes, ended), initial=0))

    def held(self, call: Invoke, before: int) -> Iterator[Send]:
        """Yield the sends made before event number `before` that may still have had their slots at the call."""
        free_ns = call.t_ns - SETTLED_NS
        first = bisect_right(self._last_end_ns, free_ns)
        asked = self._sends[first : bisect_left(self._asked, before)]
        return (send for send in asked if _end_ns(send) > free_ns)

    def count_held(self, call: Invoke, before: int) -> tuple[int, int]:
        """Return how many sends `held` yields, and of how many bytes.

        What has ended before a call was made before it, too. In a full queue thousands may be held at each of thousands
        of calls.
        """
        asked, ended = bisect_left(self._asked, before), bisect_right(self._ends_ns, call.t_ns - SETTLED_NS)
        return asked - ended, self._asked_bytes[asked] - self._ended_bytes[ended]


def queued_sends(timeline: Timeline) -> dict[int, QueuedSends]:
    """Return the queued sends by the handle of the producer."""
    return {handle: QueuedSends(timeline.sends_of(handle)) for handle in timeline.openings}


def _is_refused(send: Send) -> bool:
    return send.completion is not None and send.completion.error is ErrorClass.QUEUE_FULL


def _size_bytes(send: Send) -> int:
    return send.invoke.size or 0


def _end_ns(send: Send) -> int:
    end = send.completion
    return _NEVER_NS if end is None else done_ns(end)
