from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import of_batch
from assay_conformance.history.events import first_of
from assay_conformance.model.event import Event, Outcome
from assay_conformance.pulsar.checks.ack._receipts import agreed_for, is_answered, waits
from assay_conformance.pulsar.timeline import Call, Exercised, Says, Timeline, breach, check, ms


def _asked(timeline: Timeline) -> Iterator[tuple[Call, Event]]:
    """Yield calls while all brokers they concern answer no ACK, each with its end, or where its session was over.

    A call may be of several topics, and those be with several brokers.
    """
    for calls in timeline.calls_together("ack"):
        first, asked = calls[0], calls[0].invoke
        session = timeline.session_at(first.consumer, first.entry.topic, asked)
        if session is None or not session.was_admitted(asked):
            continue
        if not waits(timeline, first) or any(of_batch(call.message.message_id) for call in calls):
            continue
        known = all(agreed_for(timeline, call, asked) is not None for call in calls)
        if known and not any(is_answered(timeline, call, asked) for call in calls):
            over = timeline.consumer_sessions.end_after(session, asked)
            yield first, first_of(over, first.operation.completion) or timeline.ended


@check("ack.no-response-from-old-broker", of=_asked)
def no_response_from_old_broker(timeline: Timeline, asked: tuple[Call, Event]) -> Says:
    """ack.no-response-from-old-broker: where the broker sends no ACK_RESPONSE, an acknowledge call ends once its ACK
    has left."""
    call, then = asked
    closing, end = call.consumer.closing, call.operation.completion
    if then is not end and closing is not None and closing.t_ns < then.t_ns:
        return
    due_ns = call.invoke.t_ns + (timeline.ack_interval_ns(call.consumer) or 0)
    if timeline.bounds.is_missing("answer", due_ns, then.t_ns, what="the end of a call"):
        yield breach(
            "waits-for-nothing",
            f"consumer {call.consumer.handle} was asked at {ms(call.invoke.t_ns)} to acknowledge {call.entry}, on a "
            "broker that sends no ACK_RESPONSE; expected the call to end once the ACK had left; it had not ended by "
            f"{ms(then.t_ns)}",
            *(call.invoke, then),
        )
    elif then is end and end is not None and end.outcome is Outcome.OK:
        yield Exercised(end)
