from __future__ import annotations

from assay_conformance.pulsar.checks.ack._receipts import EndedAck, asked_for, ended
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, each, ms


@check("ack.error-response-is-no-success")
def error_response_is_no_success(timeline: Timeline) -> Says:
    """ack.error-response-is-no-success: an acknowledge call succeeds only after one of its ACKs was answered without an
    error."""
    yield from each(ended(timeline, well=True), _judge_good_answer, timeline)
    yield from each(ended(timeline, well=False), _was_refused, timeline)


def _judge_good_answer(timeline: Timeline, one: EndedAck) -> Says:
    calls, end = one
    for call in calls:
        asked = asked_for(timeline, call, end)
        troubled = [ack for ack in asked if ack.refused or ack.lost is not None]
        if troubled and any(ack.answer is not None and not ack.refused for ack in asked):
            yield Exercised(end)
            continue
        if not troubled or any(ack.answer is None and ack.lost is None for ack in asked):
            continue  # Ended without an answer: the other requirement's.
        last = troubled[-1]
        what, refused = last.answer or last.lost, last.refused
        word = "refused it" if refused else "closed the consumer, or lost the connection, before it answered"
        yield breach(
            "refusal-taken-for-success" if refused else "loss-taken-for-success",
            f"consumer {call.consumer.handle} sent an ACK of {call.entry} with a request id at {ms(last.frame.t_ns)}; "
            f"the broker {word} at {ms(end.t_ns if what is None else what.t_ns)}; expected no success; the call "
            f"succeeded at {ms(end.t_ns)}",
            *(last.frame, what, end),
        )


def _was_refused(timeline: Timeline, one: EndedAck) -> Says:
    asked = (asked for call in one.calls for asked in asked_for(timeline, call, one.end))
    if any(ack.refused or ack.lost is not None for ack in asked):
        yield Exercised(one.end)
