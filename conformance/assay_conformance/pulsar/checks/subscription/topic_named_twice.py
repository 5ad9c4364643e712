"""subscription.topic-named-twice"""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Completion, Frame
from assay_conformance.pulsar.timeline import Consumer, Exercised, Says, Timeline, breach, check, ms


def _named_twice(timeline: Timeline) -> Iterator[tuple[Consumer, Completion]]:
    """Consumers whose list names a topic more than once, with how the call ended that opened them."""
    for end in timeline.ends("open_consumer"):
        consumer = timeline.consumer(end.handle)
        topics = timeline.call(end).args.get("topics") or ()
        if consumer is not None and len(set(topics)) < len(topics):
            yield consumer, end


@check("subscription.topic-named-twice", of=_named_twice)
def topic_named_twice(timeline: Timeline, opened: tuple[Consumer, Completion]) -> Says:
    """subscription.topic-named-twice: a topic that is named twice is subscribed to once, or refused as an argument."""
    consumer, end = opened
    yield Exercised(end)
    for topic in dict.fromkeys(consumer.topics):
        own = [one.frame for one in timeline.requests("SUBSCRIBE") if _is_for(timeline, consumer, topic, one.frame)]
        before = [frame for frame in own if frame.seq < end.seq]
        at_once = [frame for frame in before[1:] if frame.conn == before[0].conn]
        if at_once:
            yield breach(
                "subscribes-twice",
                f"the list of consumer {consumer.handle} names topic {topic} twice; expected one SUBSCRIBE, or none; "
                f"a second one left at {ms(at_once[0].t_ns)}, on the same connection",
                before[0],
                at_once[0],
                end,
            )
            return


def _is_for(timeline: Timeline, consumer: Consumer, topic: str, frame: Frame) -> bool:
    """Whether a SUBSCRIBE is for this subscription to this topic."""
    there = timeline.local_topic(frame) == topic and frame.fields.get("subscription") == consumer.subscription
    return there and frame.seq > consumer.invoke.seq
