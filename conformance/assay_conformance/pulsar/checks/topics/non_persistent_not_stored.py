"""Non-persistent topics: a message reaches the consumers that are connected at the time, and no other."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import FORGED_OR_DOUBLED, Frame, ReadBack, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic


@dataclass(slots=True)
class _Sent:
    """SENDs of the same bytes to one topic: the last one, their number, and the deliveries per subscription."""

    last: Frame
    count: int
    delivered: dict[str, int]


class NonPersistentNotStored(Check):
    """A consumer may get a SEND only if its SUBSCRIBE reached the broker first, and each SEND allows one delivery per
    subscription."""

    requirement = RequirementId("topics.non-persistent-not-stored")

    def start(self) -> None:
        self._topics = {topic.name for topic in self.view.case.topology.topics if not topic.persistent}
        self._sent: dict[tuple[str, int], _Sent] = {}
        self._receipted: set[str] = set()
        self._subscribed_seq: dict[tuple[int, int], int] = {}

    def concerned(self) -> bool:
        return bool(self._topics)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if not event.to_receiver or session is None or event.unit is None or not self._is_judged(session.topic):
            return
        sent = self._sent.setdefault((session.topic, event.unit), _Sent(event, 0, {}))
        sent.last = event
        sent.count += 1

    @on(Frame, "SEND_RECEIPT")
    def receipt(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if event.from_sender and session is not None and self._is_judged(session.topic):
            self._receipted.add(session.topic)

    @on(Frame, "SUBSCRIBE")
    def subscribe(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if not event.to_receiver or session is None or not self._is_judged(session.topic):
            return
        self._subscribed_seq[event.conn, event.consumer_id or 0] = event.seq
        if session.topic in self._receipted:
            self.exercise(event)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        since = self._subscribed_seq.get((event.conn, event.consumer_id or 0))
        if since is None or session is None or event.unit is None:
            return
        if not event.from_sender or event.fate in FORGED_OR_DOUBLED:
            return
        sent = self._sent.get((session.topic, event.unit))
        if sent is None:
            return
        count = sent.delivered[session.subscription] = sent.delivered.get(session.subscription, 0) + 1
        if sent.last.seq < since:
            self._breach("kept", session, sent, event, "before that consumer subscribed; expected it to be dropped")
        elif count > sent.count:
            text = "and had been delivered to that subscription before; expected one delivery for each SEND"
            self._breach("delivered-again", session, sent, event, text)

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if self._is_judged(event.topic):
            text = f"an entry of the non-persistent topic {event.topic} was stored at {ms(event.t_ns)}; expected none"
            self.breach("stored", text, event)

    @on(ReadBack)
    def read_back(self, event: ReadBack) -> None:
        if self._is_judged(event.topic) and event.entries:
            text = f"the non-persistent topic {event.topic} holds {len(event.entries)} stored entries; expected none"
            self.breach("stored", text, event)

    def _is_judged(self, topic: str) -> bool:
        return base_topic(topic) in self._topics

    def _breach(self, code: str, session: ConsumerSession, sent: _Sent, event: Frame, when: str) -> None:
        self.breach(
            code,
            f"subscription {session.subscription} of the non-persistent topic {session.topic} was sent a message at "
            f"{ms(event.t_ns)} that had reached the broker at {ms(sent.last.t_ns)}, {when}",
            sent.last,
            event,
        )
