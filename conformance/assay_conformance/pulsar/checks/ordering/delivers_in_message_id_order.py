"""ordering.delivers-in-message-id-order"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import CAME, Check, ms, on
from assay_conformance.checks.tracker import ConsumerSession, OpenedConsumer
from assay_conformance.model.event import FORGED, Fate, Frame, Position, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.ordering._handed_over import ORDERED, Progress, describe, is_again

_PASSED = Fate.PASSED


@dataclass(slots=True)
class _Came(Progress):
    """`came`: entry -> the first and the last MESSAGE that brought it, by their event numbers."""

    came: dict[Position, tuple[int, int]] = field(default_factory=dict)

    def add(self, position: Position, seq: int) -> None:
        first, _ = self.came.get(position, (seq, seq))
        self.came[position] = (first, seq)

    def may_follow(self, later: Position, earlier: Position) -> bool:
        """Whether the entry `earlier` came after `later`, so that it may be received after it."""
        first, last = self.came.get(later), self.came.get(earlier)
        return first is None or last is None or last[1] > first[0]


class DeliversInMessageIdOrder(Check):
    """Ids increase from message to message of a partition, and inside an entry by batch index.

    They may go back once for each of these reasons: a new registration, a request for redelivery, a seek, and a MESSAGE
    that was sent after a later one; and only to an entry that came after the one it is received after.
    """

    requirement = RequirementId("ordering.delivers-in-message-id-order")
    skips_plain = True

    def start(self) -> None:
        self._progress: dict[tuple[int, str], _Came] = {}
        self._furthest: dict[int, tuple[int, int]] = {}

    @on(Frame, "SUBSCRIBE")
    def subscribe(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if event.from_sender and session is not None and is_again(session):
            self._may_return(session)

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES", "SEEK")
    def redelivery_requested(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if event.from_sender and session is not None:
            self._may_return(session)

    @on(Frame, "MESSAGE", seen=CAME)
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not event.ids:
            return
        position, furthest = event.ids[0].position, self._furthest.get(session.request.seq)
        if session.consumer is not None:
            self._of(session.consumer, session.topic).add(position, event.seq)
        if furthest is None or position > furthest:
            self._furthest[session.request.seq] = position
            if event.fate is not _PASSED and event.fate in FORGED:
                self._may_return(session)
        else:
            self._may_return(session)

    @on(Received)
    def received(self, event: Received) -> None:
        consumer, entry = self.tracker.opened_consumers.get(event.handle), self.tracker.entries.get(event.seq)
        if consumer is None or entry is None or not self._is_ordered(consumer, entry.topic):
            return
        progress, id = self._of(consumer, entry.topic), event.message_id
        before, progress.last = progress.last, event
        furthest, progress.place = progress.place, (id.ledger, id.entry, id.batch_index)
        if before is None:
            return
        if progress.place > furthest:
            self.exercise(event)
        elif progress.returns and progress.may_follow(before.message_id.position, id.position):
            progress.returns -= 1
        else:
            self.breach(
                "delivered-out-of-order",
                f"consumer {consumer.handle} ({consumer.subscription}) received {describe(event.message_id)} of "
                f"{entry.topic} at {ms(event.t_ns)}, after {describe(before.message_id)} at {ms(before.t_ns)}; "
                "expected increasing ids, since there was no redelivery, seek or reconnect",
                before,
                event,
            )

    def _may_return(self, session: ConsumerSession) -> None:
        if session.consumer is not None:
            self._of(session.consumer, session.topic).returns += 1

    def _of(self, consumer: OpenedConsumer, topic: str) -> _Came:
        place = (consumer.handle, topic)
        progress = self._progress.get(place)
        if progress is None:
            progress = self._progress[place] = _Came()
        return progress

    def _is_ordered(self, consumer: OpenedConsumer, topic: str) -> bool:
        session = consumer.latest.get(topic)
        return session is not None and session.request.fields.get("subType") in ORDERED
