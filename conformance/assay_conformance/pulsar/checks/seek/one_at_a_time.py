"""seek.one-at-a-time"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion, Invoke, Outcome
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ended_ns, ms


class _Second(NamedTuple):
    """A seek that ended, and the one of the same partition that was pending when it was called."""

    first: Invoke
    end: Completion


def _second(timeline: Timeline) -> Iterator[_Second]:
    """A seek is pending until its end came; one that is called meanwhile, of whatever partition, is not."""
    pending: dict[int | None, tuple[Invoke, Completion | None]] = {}
    for call in timeline.events.invokes("seek"):
        first, end = pending.get(call.handle, (call, None))
        if first is call or (end is not None and end.seq < call.seq):
            pending[call.handle] = (call, timeline.end_of(call.op))
            continue
        ended = timeline.end_of(call.op)
        if ended is not None and _partition(first) == _partition(call):
            yield _Second(first, ended)


@check("seek.one-at-a-time", of=_second)
def one_at_a_time(timeline: Timeline, second: _Second) -> Says:
    """seek.one-at-a-time: of two seeks of one consumer the second fails, where it reached the client before the first
    ended: one of them would end at a position that was not requested.

    Seeks to messages of different partitions are for different consumers inside the client, and both may succeed.
    """
    first, end = second
    if end.outcome is not Outcome.OK:
        yield Exercised(end)
        return
    ended = timeline.end_of(first.op)
    # The first may have ended before the second was called, and its end was recorded late.
    if ended is not None and ended.seq < end.seq:
        called_ns = end.called_ns
        if called_ns is None or not timeline.bounds.is_past("crossing", called_ns, ended_ns(ended)):
            return
    yield breach(
        "taken-beside-another",
        f"consumer {end.handle} was to seek at {ms(first.t_ns)}, and to seek elsewhere before that had ended; expected "
        f"the second call to fail; it succeeded at {ms(end.t_ns)}",
        first,
        end,
    )


def _partition(seek: Invoke) -> int | None:
    """The partition of the target message; None for a time."""
    id = seek.args.get("message_id")
    return None if id is None else int(id[2])
