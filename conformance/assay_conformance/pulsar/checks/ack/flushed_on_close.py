from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Event, Frame, Invoke
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.checks.ack._owed import Owed, owed_since
from assay_conformance.pulsar.timeline import (
    AckCall,
    ConsumerSession,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    each,
    ms,
)


@check("ack.flushed-on-close")
def flushed_on_close(timeline: Timeline) -> Says:
    """ack.flushed-on-close: when CLOSE_CONSUMER leaves, every ack of the last group interval has left on the same
    connection.

    One that was called earlier should have left long before the close: other requirements judge it.
    """
    owed = [*owed_since(timeline, _asked(timeline))]
    flushes = {one.left.seq: one.left for one in owed if one.left is not None and _has_closed(one, one.left)}
    for flush in flushes.values():
        yield Exercised(flush)
    yield from each(_left_over(owed), _judge_forgotten, timeline)


def _asked(timeline: Timeline) -> Iterator[tuple[AckCall, ConsumerSession, Event]]:
    for ack in timeline.ack_calls:
        call, session = ack.call.invoke, ack.asked_on
        open_ = ack.is_whole and not timeline.closing_before(ack.call.consumer, call)
        if session is not None and open_ and not timeline.written_acks(session).is_settled(ack.entry, call):
            yield ack, session, call


def _has_closed(owed: Owed, at: Event) -> bool:
    """Return whether the application had asked to close the consumer."""
    closing = owed.ack.call.consumer.closing
    return isinstance(closing, Invoke) and closing.seq < at.seq


def _left_over(owed: list[Owed]) -> Iterator[Owed]:
    """Yield what had not left when CLOSE_CONSUMER did.

    A cumulative ack that is itself owed covers what is before it: one finding is enough.
    """
    open_ = [one for one in owed if one.left is None and _has_closed(one, one.over)]
    for one in open_:
        others = (other.ack for other in open_ if other.over is one.over and other.session is one.session)
        if not any(other.call.cumulative and other.entry > one.ack.entry for other in others):
            yield one


def _judge_forgotten(timeline: Timeline, owed: Owed) -> Says:
    """Judge whether an ack was forgotten.

    Only an ack that the client took over is owed; its completion may come after the CLOSE_CONSUMER.
    """
    ack, over, interval = owed.ack, owed.over, timeline.ack_interval_ns(owed.ack.call.consumer)
    closing, asked = ack.call.consumer.closing, ack.call.invoke
    if not isinstance(over, Frame) or over.command != "CLOSE_CONSUMER" or over.dir is not Direction.TO_BROKER:
        return
    if closing is None or ack.taken is None or (interval is not None and closing.t_ns - asked.t_ns > interval):
        return
    yield breach(
        "forgotten-on-close",
        f"consumer {ack.handle} was asked at {ms(asked.t_ns)} to acknowledge {ack.entry}, and at {ms(closing.t_ns)} "
        f"to close; expected an ACK of {ack.entry} before CLOSE_CONSUMER, which left at {ms(over.t_ns)}; there was "
        "none",
        *(asked, closing, over),
    )
