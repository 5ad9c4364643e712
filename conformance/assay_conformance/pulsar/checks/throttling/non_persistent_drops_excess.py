from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assay_conformance.checks.base import View
from assay_conformance.model.event import Closed, Frame
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.throttling._read_ahead import holds_store
from assay_conformance.pulsar.timeline import (
    ConsumerSession,
    Exercised,
    Says,
    Timeline,
    breach,
    charged,
    check,
    ms,
    unchanged_topics,
)


@dataclass(slots=True, eq=False)
class _Consumer:
    """A consumer, and its permits as its broker keeps them."""

    session: ConsumerSession
    permits: int = 0


@dataclass(slots=True, eq=False)
class _Sent:
    """The last SEND of these bytes. `due_to`: subscriptions whose only consumer had permits; `got`: its MESSAGE to
    each that got it."""

    send: Frame
    topic: str
    due_to: set[str]
    got: dict[str, Frame] = field(default_factory=dict)


def _limited(view: View) -> set[str]:
    """Return non-persistent topics with a rate where nothing else delays a message.

    Such Cases do not hold the store, and their faults are all between client and broker.
    """
    topics = (topic for topic in unchanged_topics(view) if not topic.persistent)
    names = {topic.name for topic in topics if not view.is_dispatched_at_once(topic.name)}
    return names if view.is_read_at_once() and view.spares_brokers and not holds_store(view) else set()


class _Brokers:
    """Who is attached to these topics, with the permits that are left, and what was sent there."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline, self._topics = timeline, _limited(timeline.view)
        self._consumers: dict[tuple[int, int], _Consumer] = {}
        self._last: dict[tuple[str, int], _Sent] = {}
        self.sent: list[_Sent] = []

    def see(self, frame: Frame) -> None:
        """Take in every frame of a producer or consumer, in order."""
        place = (frame.conn, frame.consumer_id or 0)
        consumer = self._consumers.get(place)
        if frame.command == "SUBSCRIBE":
            session = self._timeline.consumer_sessions.of(frame)
            if frame.at_broker and session is not None and base_topic(session.topic) in self._topics:
                self._consumers[place] = _Consumer(session)
        elif frame.command == "CLOSE_CONSUMER":
            self._consumers.pop(place, None)
        elif frame.command == "SEND" and frame.to_receiver and frame.unit is not None:
            self._comes_in(frame, frame.unit)
        elif consumer is not None and frame.command == "FLOW" and frame.at_broker:
            consumer.permits += frame.permits or 0
        elif consumer is not None and frame.command == "MESSAGE" and frame.from_sender and frame.unit is not None:
            consumer.permits -= charged(frame)
            sent = self._last.get((consumer.session.topic, frame.unit))
            if sent is not None and consumer.session.subscription in sent.due_to:
                sent.got.setdefault(consumer.session.subscription, frame)

    def loses(self, conn: int) -> None:
        """Note that a connection has ended."""
        self._consumers = {place: one for place, one in self._consumers.items() if place[0] != conn}

    def _comes_in(self, send: Frame, unit: int) -> None:
        """Note a SEND. Without any permits it is not the rate that drops it."""
        producer = self._timeline.session_of(send)
        if producer is None or base_topic(producer.topic) not in self._topics:
            return
        attached = [one for one in self._consumers.values() if one.session.topic == producer.topic]
        members = Counter(one.session.subscription for one in attached)
        ready = {one.session.subscription for one in attached if one.permits > 0}
        due_to = {subscription for subscription in ready if members[subscription] == 1}
        sent = self._last[producer.topic, unit] = _Sent(send, producer.topic, due_to)
        self.sent.append(sent)


def _sent(timeline: Timeline) -> list[_Sent]:
    brokers = _Brokers(timeline)
    frames = timeline.events.frames("SUBSCRIBE", "CLOSE_CONSUMER", "FLOW", "SEND", "MESSAGE")
    events: list[Closed | Frame] = [*frames, *timeline.events.of(Closed)]
    for event in sorted(events, key=lambda event: event.seq):
        if isinstance(event, Frame):
            brokers.see(event)
        else:
            brokers.loses(event.conn)
    return brokers.sent


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
