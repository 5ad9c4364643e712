from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import Completion, Invoke, Outcome
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import (
    Consumer,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    each,
    known_owner,
    ms,
)


class _Mistake(NamedTuple):
    """A call that names `entry`, of another consumer's topic."""

    invoke: Invoke
    consumer: Consumer
    entry: Entry

    def __str__(self) -> str:
        topics = ", ".join(self.consumer.topics)
        return (
            f"consumer {self.consumer.handle} consumes {topics}; it was asked to acknowledge {self.entry} of "
            f"{self.entry.topic}"
        )


@check("ack.other-topic-rejected")
def other_topic_rejected(timeline: Timeline) -> Says:
    """ack.other-topic-rejected: a consumer of several topics rejects the acknowledgment of an id of a topic that it
    does not consume, and sends no ACK of it.

    Consumers of one topic need not look which topic an id is of, and are not judged. A call that never ends is judged
    by `robustness.calls-do-not-hang`.
    """
    yield from each(_mistakes(timeline), _judge_rejected, timeline)


def _mistakes(timeline: Timeline) -> Iterator[_Mistake]:
    for call in timeline.events.invokes("ack"):
        consumer = timeline.consumer(call.handle) if "of" in call.args else None
        if consumer is None or len(consumer.topics) < 2:
            continue
        messages = (timeline.delivered(call.args["of"], ordinal) for ordinal in call.args.get("messages", ()))
        entries = [timeline.entry_of(message) for message in messages if message is not None]
        others = [one for one in entries if one is not None and base_topic(one.topic) not in consumer.topics]
        if others:
            yield _Mistake(call, consumer, others[-1])


def _judge_rejected(timeline: Timeline, mistake: _Mistake) -> Says:
    for end in timeline.events.completions("ack"):
        if end.op == mistake.invoke.op:
            yield from _ends_badly(mistake, end)
    own = {timeline.entry_of(message) for message in timeline.received(mistake.consumer)}
    for session in mistake.consumer.sessions:
        # Brokers may give the same place to entries of several topics.
        there = mistake.entry._replace(topic=session.topic)
        for ack in timeline.consumer_sessions.frames(session, "ACK") if there not in own else ():
            written = from_client(ack) and known_owner(session, ack) is mistake.consumer
            named = (id.position == mistake.entry[1:] for id in ack.ids)
            if written and ack.seq > mistake.invoke.seq and any(named):
                yield breach(
                    "sent",
                    f"{mistake}, and sent an ACK of this id for {session.topic} at {ms(ack.t_ns)}; expected none: "
                    "there it names another message, or none",
                    *(mistake.invoke, ack),
                )


def _ends_badly(mistake: _Mistake, end: Completion) -> Says:
    if end.outcome in (Outcome.FAIL, Outcome.UNKNOWN):
        yield Exercised(end)
    elif end.outcome is Outcome.OK:
        said = f"{mistake}, and reported success at {ms(end.t_ns)}; expected an error, for nothing was acknowledged"
        yield breach("accepted", said, mistake.invoke, end)
