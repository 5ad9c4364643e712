from __future__ import annotations

from assay_conformance.model.event import Completion, Frame
from assay_conformance.pulsar.timeline import (
    LOST_CONNECTION,
    RESENDS,
    Exercised,
    ProducerSession,
    Says,
    Timeline,
    breach,
    check,
    each,
    may_wait_for_partition,
    ms,
)


@check("resend.waits-for-producer-success")
def waits_for_producer_success(timeline: Timeline) -> Says:
    """resend.waits-for-producer-success: no SEND leaves before the PRODUCER_SUCCESS of its producer on that connection;
    sends called meanwhile wait, and do not fail."""
    yield from each(timeline.unannounced, _judge_of_a_producer)
    yield from each(timeline.producer_sessions, _waits, timeline)
    yield from each(timeline.failed_sends, _waits_meanwhile, timeline)


def _judge_of_a_producer(send: Frame) -> Says:
    yield breach(
        "no-producer",
        f"a SEND (sequence id {send.sequence_id}) left on connection {send.conn} at {ms(send.t_ns)}; expected none "
        f"for producer id {send.producer_id}, which was never registered there",
        send,
    )


def _waits(timeline: Timeline, session: ProducerSession) -> Says:
    ready, first, producer = session.admitted, session.first_send, session.line
    if first is None:
        return
    is_early = ready is None or first.seq < ready.seq
    for send in timeline.sends_on(session) if is_early else (first,):
        if ready is not None and ready.seq < send.seq:
            if producer is not None and producer.sessions[0] is not session:
                yield Exercised(send)
            return
        yield breach(
            "sent-too-early",
            f"producer {session.name or session.producer_id}: sequence id {send.sequence_id} left on connection "
            f"{send.conn} at {ms(send.t_ns)}; expected PRODUCER_SUCCESS first; PRODUCER was sent at "
            f"{ms(session.request.t_ns)} and not answered yet",
            *(session.request, send),
        )


def _waits_meanwhile(timeline: Timeline, failed: Completion) -> Says:
    """Judge a send made while the producer was between two connections.

    A client that does not send again fails what left just before it noticed, and the wire does not show that it left.
    """
    unit = timeline.unit_of(failed)
    if failed.error not in LOST_CONNECTION or unit is not None:
        return
    if may_wait_for_partition(timeline, failed.handle or 0, unit):
        return
    producer, call = timeline.admitted_before(failed), timeline.call(failed)
    if producer is None or producer.closing_before(failed.seq):
        return
    last = producer.last_session(failed.seq)
    lost = None if last is None else timeline.closed(last.conn)
    if lost is None or lost.seq > call.seq:
        return
    if timeline.can(RESENDS) or timeline.bounds.is_surely_overdue("answer", lost.t_ns, call.t_ns):
        yield breach(
            "failed-meanwhile",
            f"{producer}: connection {lost.conn} ended at {ms(lost.t_ns)}; expected message {call.number}, sent by "
            f"the application at {ms(call.t_ns)}, to wait for the next connection; it failed at {ms(failed.t_ns)} "
            f"({failed.error})",
            *(lost, call, failed),
        )
