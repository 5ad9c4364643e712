"""Consumers of several topics or partitions: an id means something on its own topic alone."""

from __future__ import annotations

from collections import defaultdict

from assay_conformance.checks.base import CAME, LEFT, Check, ms, on
from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Frame, MessageId, Position
from assay_conformance.model.requirement import RequirementId


class AcksOnSourceTopic(Check):
    """Of what came to a consumer on one of its topics only: brokers may give the same place to entries of several.

    An ACK of a message that never came to it is the matter of others; a cumulative one may name what nobody was sent.
    """

    requirement = RequirementId("subscription.acks-on-source-topic")
    skips_plain = True
    needs = (Trait.SEVERAL_TOPICS, (Frame, "ACK"))

    def start(self) -> None:
        self._came: defaultdict[tuple[int, Position], dict[str, Frame]] = defaultdict(dict)
        self._topics: defaultdict[int, set[str]] = defaultdict(set)
        """By consumer: those on which something came."""

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
            self._settled(session, handle, id, event)
        if known and len(self._topics[handle]) > 1:
            self.exercise(event)

    def _settled(self, session: ConsumerSession, handle: int, id: MessageId, event: Frame) -> None:
        came = self._came[handle, id.position]
        if session.topic in came:
            return
        topic, message = next(iter(came.items()))
        self.breach(
            "on-another",
            f"entry {id.name} came to consumer {handle} on {topic} at {ms(message.t_ns)}; an ACK of it left at "
            f"{ms(event.t_ns)} for {session.topic}, where none of that name came; expected it on {topic}",
            message,
            event,
        )
