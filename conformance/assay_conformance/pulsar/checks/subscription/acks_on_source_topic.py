from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.model.event import Frame, Position
from assay_conformance.pulsar.timeline import (
    CUMULATIVE,
    Consumer,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ms,
)


def _of_several_topics(timeline: Timeline) -> Iterator[Consumer]:
    return (one for one in timeline.consumers if len({session.topic for session in one.sessions}) > 1)


@check("subscription.acks-on-source-topic", of=_of_several_topics)
def acks_on_source_topic(timeline: Timeline, consumer: Consumer) -> Says:
    """subscription.acks-on-source-topic: a message is acknowledged on the topic it came from. Judged where its id came
    to the consumer on one topic only, since brokers may use the same position on several.

    An ACK of a message that never came is judged elsewhere; a cumulative one may name an entry that was not delivered.
    """
    came: dict[Position, dict[str, Frame]] = {}
    topics = set[str]()
    for session, frame in sorted(timeline.frames_of(consumer, "MESSAGE", "ACK"), key=lambda one: one[1].seq):
        if frame.command == "MESSAGE" and to_client(frame):
            topics.add(session.topic)
            for id in frame.ids:
                came.setdefault(id.position, {}).setdefault(session.topic, frame)
        elif frame.command == "ACK" and frame.ack_type != CUMULATIVE and from_client(frame):
            known = [id for id in frame.ids if id.position in came]
            if known and len(topics) > 1:
                yield Exercised(frame)
            for id in known:
                if session.topic in came[id.position]:
                    continue
                topic, message = next(iter(came[id.position].items()))
                yield breach(
                    "on-another",
                    f"entry {id.name} came to consumer {consumer.handle} on {topic} at {ms(message.t_ns)}; expected "
                    f"its ACK on {topic}; it left at {ms(frame.t_ns)} on {session.topic}, where no entry with that id "
                    "came",
                    *(message, frame),
                )
