"""What a dispatch rate leaves of a non-persistent topic."""

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
from assay_conformance.pulsar.checks.throttling._dispatches import unchanged_topics
from assay_conformance.pulsar.timeline.permits import charged

_SLACK = TOLERANCES["answer"]


@dataclass(slots=True)
class _Here:
    """A consumer, and its permits as the broker's side of the wire has them."""

    session: ConsumerSession
    permits: int = 0


@dataclass(slots=True)
class _Sent:
    """The last SEND of these bytes. `owed`: subscriptions whose one consumer had permits, and did not get it yet."""

    send: Frame
    owed: set[str] = field(default_factory=set)


class NonPersistentDropsExcess(Check):
    """A message comes at once or never. Permits are counted beside it: without any, it is not the rate that drops.

    Judged in Cases whose topics' stores are not held, and whose faults are all on the way: nothing else is late then.
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
        self._here: dict[tuple[int, int], _Here] = {}
        self._sent: dict[tuple[str, int], _Sent] = {}

    def concerned(self) -> bool:
        return bool(self._topics)

    @on(Frame, "SUBSCRIBE")
    def subscribed(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if event.at_broker and session is not None and base_topic(session.topic) in self._topics:
            self._here[event.conn, event.consumer_id or 0] = _Here(session)

    @on(Frame, "CLOSE_CONSUMER")
    def left(self, event: Frame) -> None:
        self._here.pop((event.conn, event.consumer_id or 0), None)

    @on(Closed)
    def closed(self, event: Closed) -> None:
        self._here = {place: here for place, here in self._here.items() if place[0] != event.conn}

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        here = self._here.get((event.conn, event.consumer_id or 0))
        if here is not None and event.at_broker:
            here.permits += event.permits or 0

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if not event.to_receiver or session is None or event.unit is None:
            return
        there = [here for here in self._here.values() if here.session.topic == session.topic]
        alone = [here for here in there if sum(_shares(here, other) for other in there) == 1]
        owed = {here.session.subscription for here in alone if here.permits > 0}
        self._sent[session.topic, event.unit] = _Sent(event, owed)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        here = self._here.get((event.conn, event.consumer_id or 0))
        if here is None or not event.from_sender or event.dir is not Direction.TO_CLIENT or event.unit is None:
            return
        here.permits -= charged(event)
        sent = self._sent.get((here.session.topic, event.unit))
        if sent is None or here.session.subscription not in sent.owed:
            return
        sent.owed.discard(here.session.subscription)
        if event.t_ns - sent.send.t_ns > _SLACK.slack_ns:
            self._late(here.session, sent.send, event)

    def _late(self, session: ConsumerSession, send: Frame, event: Frame) -> None:
        if not self.tracker.load.quiet(send.t_ns, event.t_ns, _SLACK):
            self.undecided("the machine was too busy to tell what was kept from what was slow")
            return
        self.breach(
            "kept",
            f"subscription {session.subscription} of the non-persistent topic {session.topic} had permits at "
            f"{ms(send.t_ns)}, when a message came that was sent to it at {ms(event.t_ns)}; expected at once, or never",
            send,
            event,
        )

    def finish(self) -> None:
        for sent in self._sent.values():
            if sent.owed:
                self.exercise(sent.send)


def _shares(here: _Here, other: _Here) -> bool:
    return here.session.subscription == other.session.subscription
