"""A dispatch rate on a non-persistent topic drops messages."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.case import Who
from assay_conformance.model.event import Closed, Frame
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import unchanged_topics
from assay_conformance.pulsar.timeline.permits import charged

_SLACK = TOLERANCES["answer"]


@dataclass(slots=True)
class _Consumer:
    """A consumer, and its permits as seen on the broker's side of the wire."""

    session: ConsumerSession
    permits: int = 0


@dataclass(slots=True)
class _Sent:
    """The last SEND of these bytes. `due_to`: subscriptions whose only consumer had permits and has not got it yet."""

    send: Frame
    due_to: set[str] = field(default_factory=set)


class NonPersistentDropsExcess(Check):
    """A message is delivered at once or never. Permits are counted, since without any it is not the rate that drops it.

    Judged in Cases that do not hold the store and whose faults are all between client and broker, so that nothing else
    delays a message.
    """

    requirement = RequirementId("throttling.non-persistent-drops-excess")

    def start(self) -> None:
        held = any(step.who is Who.BROKER and step.verb == "hold_store" for step in self.view.case.steps)
        self._topics = {
            topic.name
            for topic in unchanged_topics(self.view)
            if not held
            and self.view.spares_brokers
            and not topic.persistent
            and not self.view.is_dispatched_at_once(topic.name)
            and self.view.is_read_at_once(topic.name)
        }
        self._consumers: dict[tuple[int, int], _Consumer] = {}
        self._sent: dict[tuple[str, int], _Sent] = {}

    def concerned(self) -> bool:
        return bool(self._topics)

    @on(Frame, "SUBSCRIBE")
    def subscribed(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if event.at_broker and session is not None and base_topic(session.topic) in self._topics:
            self._consumers[event.conn, event.consumer_id or 0] = _Consumer(session)

    @on(Frame, "CLOSE_CONSUMER")
    def left(self, event: Frame) -> None:
        self._consumers.pop((event.conn, event.consumer_id or 0), None)

    @on(Closed)
    def closed(self, event: Closed) -> None:
        self._consumers = {place: consumer for place, consumer in self._consumers.items() if place[0] != event.conn}

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        consumer = self._consumers.get((event.conn, event.consumer_id or 0))
        if consumer is not None and event.at_broker:
            consumer.permits += event.permits or 0

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if not event.to_receiver or session is None or event.unit is None:
            return
        attached = [consumer for consumer in self._consumers.values() if consumer.session.topic == session.topic]
        alone = [consumer for consumer in attached if sum(_shares(consumer, other) for other in attached) == 1]
        due_to = {consumer.session.subscription for consumer in alone if consumer.permits > 0}
        self._sent[session.topic, event.unit] = _Sent(event, due_to)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        consumer = self._consumers.get((event.conn, event.consumer_id or 0))
        if consumer is None or not event.from_sender or event.dir is not Direction.TO_CLIENT or event.unit is None:
            return
        consumer.permits -= charged(event)
        sent = self._sent.get((consumer.session.topic, event.unit))
        if sent is None or consumer.session.subscription not in sent.due_to:
            return
        sent.due_to.discard(consumer.session.subscription)
        if event.t_ns - sent.send.t_ns > _SLACK.slack_ns:
            self._late(consumer.session, sent.send, event)

    def _late(self, session: ConsumerSession, send: Frame, event: Frame) -> None:
        if not self.tracker.load.quiet(send.t_ns, event.t_ns, _SLACK):
            self.undecided("the machine was too busy to decide whether a message was kept or only slow")
            return
        self.breach(
            "kept",
            f"subscription {session.subscription} of the non-persistent topic {session.topic} had permits when a "
            f"message arrived at {ms(send.t_ns)}; expected it to be sent at once, or never; it was sent at "
            f"{ms(event.t_ns)}",
            send,
            event,
        )

    def finish(self) -> None:
        for sent in self._sent.values():
            if sent.due_to:
                self.exercise(sent.send)


def _shares(consumer: _Consumer, other: _Consumer) -> bool:
    return consumer.session.subscription == other.session.subscription
