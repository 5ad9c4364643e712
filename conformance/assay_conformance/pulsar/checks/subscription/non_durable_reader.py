"""subscription.non-durable-reader"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.case import Who
from assay_conformance.model.event import Cursor, Frame, MessageId, Position, Stored
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline.readers import FIRST, place_named


class NonDurableReader(Check):
    """Judged on topics that do not delete messages by themselves. A broker may begin with the message that a reader
    names or with the next one: clients handle both."""

    requirement = RequirementId("subscription.non-durable-reader")
    needs = (Trait.READER,)

    def start(self) -> None:
        topology = self.view.case.topology
        shrinking = {topic.name for topic in topology.topics if topic.message_ttl_s or topic.retention is not None}
        verbs = {step.verb for step in self.view.case.steps if step.who is Who.BROKER}
        self._judges = not verbs & {"set_policy", "delete", "migrate"}
        self._shrinking = shrinking
        self._log: dict[str, list[Position]] = {}
        self._waiting: dict[int, Position] = {}
        self._served: set[str] = set()
        self._readers: dict[tuple[str, str], list[ConsumerSession]] = {}
        self._moved_readers: set[tuple[str, str]] = set()
        """Readers that a seek has moved since their last message."""
        self._seekers: set[int] = set()
        """Sessions, by the number of their SUBSCRIBE, on which a SEEK was sent."""

    @on(Stored)
    def stored(self, event: Stored) -> None:
        self._log.setdefault(event.topic, []).append(event.id.position)

    @on(Frame, "SUBSCRIBE")
    def subscribed(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not event.at_broker or event.fields.get("durable", True) is not False:
            return
        self._readers.setdefault((session.topic, session.subscription), []).append(session)
        begins = place_named(event.fields.get("start_message_id"))
        if begins is not None and self._judges and base_topic(session.topic) not in self._shrinking:
            self._waiting[session.request.seq] = begins

    @on(Frame, "SEEK")
    def seek(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None:
            self._moved_readers.add((session.topic, session.subscription))
            self._seekers.add(session.request.seq)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not event.from_sender or not event.ids:
            return
        begins = self._waiting.pop(session.request.seq, None)
        moved = (session.topic, session.subscription) in self._moved_readers
        self._moved_readers.discard((session.topic, session.subscription))
        if begins is not None and not moved:
            self._judge_first(session, event, begins)
        self._served.add(session.topic)

    def _judge_first(self, session: ConsumerSession, event: Frame, begins: Position) -> None:
        log = self._log.get(session.topic, [])
        place = event.ids[0].position
        possible = {log[at] for at in (bisect_left(log, begins), bisect_right(log, begins)) if at < len(log)}
        if place not in possible:
            self.breach(
                "starts-elsewhere",
                f"reader {session.subscription} of topic {session.topic} asked at {ms(session.request.t_ns)} to begin "
                f"at {_name(begins)}; expected that entry or the next one first; it was sent {_name(place)} at "
                f"{ms(event.t_ns)}",
                session.request,
                event,
            )
        elif session.topic in self._served:
            self.exercise(event)

    @on(Cursor)
    def cursor(self, event: Cursor) -> None:
        every = self._readers.get((event.topic, event.subscription), [])
        sessions = [session for session in every if session.ready is not None]
        last = sessions[-1].ended if sessions else None
        if last is None or self._closed_for_seek(sessions[-1]):
            return
        if all(session.ended is not None for session in sessions):
            self.breach(
                "left-behind",
                f"reader {event.subscription} of topic {event.topic} was gone at {ms(last.t_ns)}; expected its "
                "subscription to be gone, too; it still exists",
                last,
                event,
            )

    def _closed_for_seek(self, session: ConsumerSession) -> bool:
        """Whether a SEEK closed it. The broker then keeps the subscription, moved, for the SUBSCRIBE that may follow
        (Broker, PersistentSubscription: removeConsumer, isResetCursor)."""
        closed_by = session.ended
        return (
            session.request.seq in self._seekers
            and isinstance(closed_by, Frame)
            and closed_by.dir is Direction.TO_CLIENT
        )


def _name(position: Position) -> str:
    return "its beginning" if position == FIRST else MessageId(*position).name
