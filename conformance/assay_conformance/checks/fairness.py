"""Consumers of several topics or partitions: none of them waits for ever because others have more."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import entry_on, number_in_force, to_client
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import Entry, OpenedConsumer
from assay_conformance.model.event import Frame, Invoke, Received
from assay_conformance.model.requirement import RequirementId


@dataclass(slots=True)
class _Waiting:
    """A message that came, with how many had been handed over by then, and how many others waited."""

    frame: Frame
    handed: int
    ahead: int


@dataclass(slots=True)
class _Reading:
    """One consumer. What came and was never handed over counts as waiting: that is on the client's side."""

    came: int = 0
    handed: int = 0
    largest: int = 1
    """Messages of an entry: a queue takes a batch as a whole when there is room for one of its messages."""
    waiting: dict[Entry, _Waiting] = field(default_factory=dict)


class NoTopicStarves(Check):
    """A message is not passed over by more messages of other topics that came later than all their queues hold.

    Judged of what comes for the first time, alone in its entry, to consumers that never seek, pause or refuse.
    """

    requirement = RequirementId("subscription.no-topic-starves")
    needs = (Trait.SEVERAL_TOPICS,)

    def start(self) -> None:
        self._reading: dict[int, _Reading] = {}
        self._out: set[int] = set()

    @on(Invoke, "seek", "pause", "nack")
    def moved(self, event: Invoke) -> None:
        self._out.add(event.handle or 0)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        consumer = session.consumer if session is not None else None
        if session is None or consumer is None or not self._is_judged(consumer) or not to_client(event):
            return
        reading = self._reading.setdefault(consumer.handle, _Reading())
        count = max(1, len(event.members))
        entry = entry_on(session, event.ids[0])
        if count == 1 and not event.redelivery_count:
            # What came before and comes again was thrown away meanwhile, with its connection: it waits from now on.
            reading.waiting[entry] = _Waiting(event, reading.handed, reading.came - reading.handed)
        else:
            reading.waiting.pop(entry, None)
        reading.came += count
        reading.largest = max(reading.largest, count)

    @on(Received)
    def received(self, event: Received) -> None:
        reading, entry = self._reading.get(event.handle), self.tracker.entries.get(event.seq)
        if reading is None or entry is None:
            return
        reading.handed += 1
        waiting = reading.waiting.pop(entry, None)
        consumer = self.tracker.opened_consumers[event.handle]
        if waiting is None or event.handle in self._out:
            return
        passed = reading.handed - 1 - waiting.handed - waiting.ahead
        queues = {session.topic for session in consumer.sessions}
        size = max(1, number_in_force(self.view, consumer, "receiver_queue_size") or 1_000)
        room = len(queues) * (size + reading.largest - 1)
        if passed > room:
            self.breach(
                "starved",
                f"consumer {event.handle} got {entry} of topic {entry.topic} at {ms(waiting.frame.t_ns)} and handed it "
                f"over at {ms(event.t_ns)}, behind {passed} messages that came later; its queues hold {room}",
                waiting.frame,
                event,
            )
        elif reading.handed > room:
            self.exercise(event)

    def _is_judged(self, consumer: OpenedConsumer) -> bool:
        several = len({session.topic for session in consumer.sessions}) > 1 or len(consumer.topics) > 1
        return several and consumer.handle not in self._out
