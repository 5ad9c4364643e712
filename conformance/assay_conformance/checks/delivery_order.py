"""Ordering at the application: an Exclusive or Failover consumer hands messages over as they came."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import CAME, Check, ms, on
from assay_conformance.checks.tracker import ConsumerSession, OpenedConsumer
from assay_conformance.model.event import Fate, Frame, MessageId, Received
from assay_conformance.model.requirement import RequirementId

ORDERED = ("Exclusive", "Failover")

_PASSED = Fate.PASSED
_FORGED = (Fate.ALTERED, Fate.INJECTED)


@dataclass(slots=True)
class _Taken:
    """What a consumer handed over from one topic or partition, up to now. `returns`: how often it may still go back."""

    last: Received | None = None
    place: tuple[int, int, int] = (-1, -1, -1)
    returns: int = 0


class DeliversInIdOrder(Check):
    """Ids grow from message to message of a partition, inside an entry by batch index.

    They may go back once for each reason to: a new registration, a redelivery or seek asked for, and a MESSAGE that the
    client was sent behind a later one.
    """

    requirement = RequirementId("ordering.delivers-in-id-order")
    skips_plain = True

    def start(self) -> None:
        self._taken: dict[tuple[int, str], _Taken] = {}
        self._furthest: dict[int, tuple[int, int]] = {}

    @on(Frame, "SUBSCRIBE")
    def subscribe(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        consumer = None if session is None else session.consumer
        if event.from_sender and session is not None and consumer is not None:
            earlier = [before for before in consumer.sessions if before.topic == session.topic]
            if len(earlier) > 1:
                self._may_return(session)

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES", "SEEK")
    def asked_again(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if event.from_sender and session is not None:
            self._may_return(session)

    @on(Frame, "MESSAGE", seen=CAME)
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not event.ids:
            return
        position, furthest = event.ids[0].position, self._furthest.get(session.request.seq)
        if furthest is None or position > furthest:
            self._furthest[session.request.seq] = position
            if event.fate is not _PASSED and event.fate in _FORGED:
                self._may_return(session)
        else:
            self._may_return(session)

    @on(Received)
    def received(self, event: Received) -> None:
        consumer, entry = self.tracker.opened_consumers.get(event.handle), self.tracker.entries.get(event.seq)
        if consumer is None or entry is None or not self._is_ordered(consumer, entry.topic):
            return
        place = (consumer.handle, entry.topic)
        taken = self._taken.get(place)
        if taken is None:
            taken = self._taken[place] = _Taken()
        id = event.message_id
        before, taken.last = taken.last, event
        furthest, taken.place = taken.place, (id.ledger, id.entry, id.batch_index)
        if before is None:
            return
        if taken.place > furthest:
            self.exercise(event)
        elif taken.returns:
            taken.returns -= 1
        else:
            self.breach(
                "delivered-out-of-order",
                f"consumer {consumer.handle} ({consumer.subscription}) handed over {_name(event.message_id)} of "
                f"{entry.topic} at {ms(event.t_ns)}, after {_name(before.message_id)} at {ms(before.t_ns)}; nothing "
                "had asked for it again",
                before,
                event,
            )

    def _may_return(self, session: ConsumerSession) -> None:
        if session.consumer is not None:
            self._taken.setdefault((session.consumer.handle, session.topic), _Taken()).returns += 1

    def _is_ordered(self, consumer: OpenedConsumer, topic: str) -> bool:
        session = consumer.latest.get(topic)
        return session is not None and session.request.fields.get("subType") in ORDERED


def _name(id: MessageId) -> str:
    return id.name + (f" message {id.batch_index}" if id.batch_index >= 0 else "")
