from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import elapsed
from assay_conformance.model.event import Event
from assay_conformance.pulsar.checks.ack._owed import Owed, owed_since
from assay_conformance.pulsar.timeline import (
    AckCall,
    ConsumerSession,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ms,
)


def _asked(timeline: Timeline) -> Iterator[tuple[AckCall, ConsumerSession, Event]]:
    """Yield the acks of consumers without an interval.

    A cumulative ack that does not reach beyond an earlier one is ignored.
    """
    for ack in timeline.ack_calls:
        is_ignored = ack.call.cumulative and ack.is_covered
        at_once = ack.is_whole and timeline.ack_interval_ns(ack.call.consumer) == 0
        if ack.asked_on is not None and at_once and not is_ignored:
            yield ack, ack.asked_on, ack.call.invoke


def _owed(timeline: Timeline) -> Iterator[Owed]:
    return owed_since(timeline, _asked(timeline))


@check("ack.zero-group-time-is-immediate", of=_owed)
def zero_group_time_is_immediate(timeline: Timeline, owed: Owed) -> Says:
    """ack.zero-group-time-is-immediate: with a group interval of 0 the ACK of a whole entry leaves at once."""
    ack, left, over, end = owed.ack, owed.left, owed.over, owed.ack.call.operation.completion
    if left is not None:
        asked_ns = left.t_ns if end is None or end.seq > left.seq else ack.call.called_ns
        if not timeline.bounds.is_overdue("at-once", asked_ns, left.t_ns, what="an ACK"):
            yield Exercised(left)
            return
        yield breach(
            "waited",
            f"consumer {ack.handle} has no group interval and was asked at {ms(asked_ns)} to acknowledge {ack.entry}; "
            f"its ACK left {elapsed(left.t_ns, asked_ns)} later, expected it to leave at once",
            *(ack.call.invoke, left),
        )
    elif ack.taken is not None and timeline.bounds.is_overdue("at-once", ack.taken.t_ns, over.t_ns, what="an ACK"):
        yield breach(
            "never-sent",
            f"consumer {ack.handle} has no group interval and was asked at {ms(ack.taken.t_ns)} to acknowledge "
            f"{ack.entry}; expected an ACK of it at once; it had sent none by {ms(over.t_ns)}",
            *(ack.call.invoke, over),
        )
