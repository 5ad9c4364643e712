"""Consumers of several topics or partitions: none of them waits for ever because others have more."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import entry_on, number_in_force, to_client
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import Entry, OpenedConsumer
from assay_conformance.model.event import Frame, Invoke, Received
from assay_conformance.model.requirement import RequirementId


@dataclass(slots=True)
class _Way:
    """One connection of a consumer. What came and was never handed over counts as waiting: that is on the client's
    side."""

    came: int = 0
    handed: int = 0


@dataclass(slots=True)
class _There:
    """An entry that came, and how many of its messages were not handed over yet; how many others of its connection had
    been by then, and how many waited. `waits`: whether it is judged."""

    frame: Frame
    left: int
    handed: int
    ahead: int
    waits: bool


@dataclass(slots=True)
class _Reading:
    """One consumer."""

    handed: int = 0
    largest: int = 1
    """Messages of an entry: a queue takes a batch as a whole when there is room for one of its messages."""
    ways: defaultdict[int, _Way] = field(default_factory=lambda: defaultdict(_Way))
    there: dict[Entry, _There] = field(default_factory=dict)


class NoTopicStarves(Check):
    """A message is not passed over by more messages of other topics that came later than all their queues hold.

    Later is what came behind it on its own connection: which of two connections a client has read first nobody saw.
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
        way, count = reading.ways[event.conn], max(1, len(event.members))
        # What came before and comes again was thrown away meanwhile, with its connection: it waits from now on.
        waits = count == 1 and not event.redelivery_count
        entry = entry_on(session, event.ids[0])
        reading.there[entry] = _There(event, count, way.handed, way.came - way.handed, waits)
        way.came += count
        reading.largest = max(reading.largest, count)

    @on(Received)
    def received(self, event: Received) -> None:
        reading, entry = self._reading.get(event.handle), self.tracker.entries.get(event.seq)
        there = None if reading is None or entry is None else reading.there.get(entry)
        if reading is None or entry is None or there is None:
            return
        way = reading.ways[there.frame.conn]
        reading.handed += 1
        way.handed += 1
        there.left -= 1
        if there.left == 0:
            del reading.there[entry]
        if there.waits and event.handle not in self._out:
            self._judge(event, reading, entry, there, way.handed - 1 - there.handed - there.ahead)

    def _judge(self, event: Received, reading: _Reading, entry: Entry, there: _There, passed: int) -> None:
        consumer = self.tracker.opened_consumers[event.handle]
        queues = {session.topic for session in consumer.sessions}
        size = max(1, number_in_force(self.view, consumer, "receiver_queue_size") or 1_000)
        room = len(queues) * (size + reading.largest - 1)
        if passed > room:
            self.breach(
                "starved",
                f"consumer {event.handle} got {entry} of topic {entry.topic} at {ms(there.frame.t_ns)} and handed it "
                f"over at {ms(event.t_ns)}, behind {passed} messages that came later on its connection; its queues "
                f"hold {room}",
                there.frame,
                event,
            )
        elif reading.handed > room:
            self.exercise(event)

    def _is_judged(self, consumer: OpenedConsumer) -> bool:
        several = len({session.topic for session in consumer.sessions}) > 1 or len(consumer.topics) > 1
        return several and consumer.handle not in self._out
