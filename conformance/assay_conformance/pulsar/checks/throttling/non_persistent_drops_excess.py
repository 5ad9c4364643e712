from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from assay_conformance.checks.base import View
from assay_conformance.model.event import Frame
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.throttling._read_ahead import holds_store
from assay_conformance.pulsar.timeline import (
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ms,
    unchanged_topics,
)


class _Sent(NamedTuple):
    """A SEND. `due_to`: subscriptions whose only consumer had permits; `got`: its MESSAGE to each that got it, before
    the same bytes were sent again."""

    send: Frame
    topic: str
    due_to: set[str]
    got: dict[str, Frame]


def _limited(view: View) -> set[str]:
    """Return non-persistent topics with a rate where nothing else delays a message.

    Such Cases do not hold the store, and their faults are all between client and broker.
    """
    topics = (topic for topic in unchanged_topics(view) if not topic.persistent)
    names = {topic.name for topic in topics if not view.is_dispatched_at_once(topic.name)}
    return names if view.is_read_at_once() and view.spares_brokers and not holds_store(view) else set()


def _sent(timeline: Timeline) -> list[_Sent]:
    topics, found, last = _limited(timeline.view), list[_Sent](), dict[tuple[str, int | None], _Sent]()
    for frame in timeline.events.frames("SEND", "MESSAGE"):
        if frame.command == "SEND":
            producer = timeline.session_of(frame) if frame.to_receiver and frame.unit is not None else None
            if producer is not None and base_topic(producer.topic) in topics:
                sent = _Sent(frame, producer.topic, _due_to(timeline, producer.topic, frame), {})
                last[producer.topic, frame.unit] = sent
                found.append(sent)
        elif frame.from_sender and (session := timeline.consumer_sessions.of(frame)) is not None:
            its = last.get((session.topic, frame.unit))
            if its is not None and session.subscription in its.due_to:
                its.got.setdefault(session.subscription, frame)
    return found


def _due_to(timeline: Timeline, topic: str, send: Frame) -> set[str]:
    """Return the subscriptions whose only consumer has permits: without any it is not the rate that drops a message."""
    there = (one for one in timeline.consumer_sessions.all if one.topic == topic and one.request.seq < send.seq)
    attached = [one for one in there if one.request.at_broker and not one.had_ended(send)]
    members = Counter(one.subscription for one in attached)
    alone = (one for one in attached if members[one.subscription] == 1)
    return {one.subscription for one in alone if timeline.broker_account(one).at(send).available > 0}


@check("throttling.non-persistent-drops-excess", of=_sent, where=lambda view: bool(_limited(view)))
def non_persistent_drops_excess(timeline: Timeline, sent: _Sent) -> Says:
    """throttling.non-persistent-drops-excess: a dispatch rate on a non-persistent topic drops messages: each is
    delivered at once or never."""
    send = sent.send
    if sent.due_to - set(sent.got):
        yield Exercised(send)
    for subscription, message in sent.got.items():
        if timeline.bounds.is_past("answer", send.t_ns, message.t_ns):
            what = "whether a message was kept or only slow"
            timeline.bounds.check_quiet("answer", send.t_ns, message.t_ns, what=what)
            yield breach(
                "kept",
                f"subscription {subscription} of the non-persistent topic {sent.topic} had permits when a message "
                f"arrived at {ms(send.t_ns)}; expected it to be sent at once, or never; it was sent at "
                f"{ms(message.t_ns)}",
                *(send, message),
            )
