"""Consumers of several topics or partitions: a message id belongs to one topic."""

from __future__ import annotations

from collections import defaultdict

from assay_conformance.checks.base import CAME, LEFT, Check, ms, on
from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Frame, MessageId, Position
from assay_conformance.model.requirement import RequirementId


class AcksOnSourceTopic(Check):
    """A message is acknowledged on the topic it came from. Judged where its id came to the consumer on one topic only,
    since brokers may use the same position on several.

    An ACK of a message that never came is judged elsewhere; a cumulative one may name an entry that was not delivered.
    """

    requirement = RequirementId("subscription.acks-on-source-topic")
    skips_plain = True
    needs = (Trait.SEVERAL_TOPICS, (Frame, "ACK"))

    def start(self) -> None:
        self._came: defaultdict[tuple[int, Position], dict[str, Frame]] = defaultdict(dict)
        self._topics: defaultdict[int, set[str]] = defaultdict(set)
        """Consumer -> topics on which it got messages."""

    @on(Frame, "MESSAGE", seen=CAME)
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not to_client(event):
            return
        self._topics[session.consumer.handle].add(session.topic)
        for id in event.ids:
            self._came[session.consumer.handle, id.position].setdefault(session.topic, event)

    @on(Frame, "ACK", seen=LEFT)
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or event.ack_type == "Cumulative" or not from_client(event):
            return
        handle = session.consumer.handle
        known = [id for id in event.ids if (handle, id.position) in self._came]
        for id in known:
            self._acked(session, handle, id, event)
        if known and len(self._topics[handle]) > 1:
            self.exercise(event)

    def _acked(self, session: ConsumerSession, handle: int, id: MessageId, event: Frame) -> None:
        came = self._came[handle, id.position]
        if session.topic in came:
            return
        topic, message = next(iter(came.items()))
        self.breach(
            "on-another",
            f"entry {id.name} came to consumer {handle} on {topic} at {ms(message.t_ns)}; expected its ACK on {topic}; "
            f"it left at {ms(event.t_ns)} on {session.topic}, where no entry with that id came",
            message,
            event,
        )
