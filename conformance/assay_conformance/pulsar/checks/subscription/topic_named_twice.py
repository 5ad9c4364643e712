from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from assay_conformance.model.event import Completion, Frame, Overdue
from assay_conformance.pulsar.timeline import Consumer, Exercised, Request, Says, Timeline, breach, check, ms


def _named_twice(timeline: Timeline) -> Iterator[tuple[Consumer, Completion | Overdue]]:
    """Yield consumers whose list names a topic more than once, with how the call that opened them ended.

    A call may not have ended at all.
    """
    for call in timeline.events.invokes("open_consumer"):
        consumer, topics = timeline.consumer(call.handle), call.args.get("topics") or ()
        end = timeline.end_or_overdue(call.op)
        if consumer is not None and end is not None and len(set(topics)) < len(topics):
            yield consumer, end


@check("subscription.topic-named-twice", of=_named_twice)
def topic_named_twice(timeline: Timeline, opened: tuple[Consumer, Completion | Overdue]) -> Says:
    """subscription.topic-named-twice: a topic that is named twice is subscribed to once, or refused as an argument.

    Where the first SUBSCRIBE was refused, or what it asked for has ended, the next one is another attempt.
    """
    consumer, end = opened
    if isinstance(end, Completion):
        yield Exercised(end)
    for topic in dict.fromkeys(consumer.topics):
        asked = [one for one in timeline.requests("SUBSCRIBE") if _is_for(timeline, opened, topic, one.frame)]
        twice = next(((one, other) for one, other in pairwise(asked) if _stands(timeline, one, other.frame)), None)
        if twice is not None:
            first, second = twice
            yield breach(
                "subscribes-twice",
                f"the list of consumer {consumer.handle} names topic {topic} twice; expected one SUBSCRIBE, or none; "
                f"a second one left at {ms(second.frame.t_ns)}, on the same connection",
                *(first.frame, second.frame, end),
            )
            return


def _is_for(timeline: Timeline, opened: tuple[Consumer, Completion | Overdue], topic: str, frame: Frame) -> bool:
    """Return whether a SUBSCRIBE is for this subscription to this topic, while the consumer was being opened."""
    consumer, end = opened
    there = timeline.local_topic(frame) == topic and frame.fields.get("subscription") == consumer.subscription
    return there and consumer.invoke.seq < frame.seq < end.seq


def _stands(timeline: Timeline, one: Request, later: Frame) -> bool:
    """Return whether what was asked for first was there, or was waited for, when it was asked for once more."""
    refused = one.error is not None and one.answer is not None and one.answer.seq < later.seq
    session = timeline.consumer_sessions.of(one.frame)
    over = session is not None and session.had_ended(later)
    return one.frame.conn == later.conn and not refused and not over
