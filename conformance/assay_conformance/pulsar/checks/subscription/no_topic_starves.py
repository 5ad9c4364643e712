"""Consumers of several topics or partitions: none of the topics waits for ever because others have more messages."""

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
class _Connection:
    """One connection of a consumer. A message that arrived and was never received counts as waiting: the client has
    it."""

    arrived: int = 0
    received: int = 0


@dataclass(slots=True)
class _Arrived:
    """An entry that arrived. `left`: its messages that were not received yet; `received` and `ahead`: how many messages
    of its connection had been received and were waiting when it arrived; `is_judged`: whether it is judged.
    """

    frame: Frame
    left: int
    received: int
    ahead: int
    is_judged: bool


@dataclass(slots=True)
class _Reading:
    """One consumer."""

    received: int = 0
    largest: int = 1
    """Messages of an entry: a queue takes a whole batch when there is room for one of its messages."""
    connections: defaultdict[int, _Connection] = field(default_factory=lambda: defaultdict(_Connection))
    arrived: dict[Entry, _Arrived] = field(default_factory=dict)


class NoTopicStarves(Check):
    """Before a message, no more later messages of other topics are received than all queues of the consumer hold.

    Later are those that arrived after it on its own connection, since the order across connections is unknown. Judged
    for messages that come for the first time, alone in their entry, to consumers that never seek, pause or nack.
    """

    requirement = RequirementId("subscription.no-topic-starves")
    needs = (Trait.SEVERAL_TOPICS,)

    def start(self) -> None:
        self._reading: dict[int, _Reading] = {}
        self._not_judged: set[int] = set()

    @on(Invoke, "seek", "pause", "nack")
    def moved(self, event: Invoke) -> None:
        self._not_judged.add(event.handle or 0)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        consumer = session.consumer if session is not None else None
        if session is None or consumer is None or not self._is_judged(consumer) or not to_client(event):
            return
        reading = self._reading.setdefault(consumer.handle, _Reading())
        connection, count = reading.connections[event.conn], max(1, len(event.members))
        # A redelivered message was dropped meanwhile, with its connection: it waits from now on.
        is_judged = count == 1 and not event.redelivery_count
        entry = entry_on(session, event.ids[0])
        ahead = connection.arrived - connection.received
        reading.arrived[entry] = _Arrived(event, count, connection.received, ahead, is_judged)
        connection.arrived += count
        reading.largest = max(reading.largest, count)

    @on(Received)
    def received(self, event: Received) -> None:
        reading, entry = self._reading.get(event.handle), self.tracker.entries.get(event.seq)
        arrived = None if reading is None or entry is None else reading.arrived.get(entry)
        if reading is None or entry is None or arrived is None:
            return
        connection = reading.connections[arrived.frame.conn]
        reading.received += 1
        connection.received += 1
        arrived.left -= 1
        if arrived.left == 0:
            del reading.arrived[entry]
        if arrived.is_judged and event.handle not in self._not_judged:
            passed = connection.received - 1 - arrived.received - arrived.ahead
            self._judge(event, reading, entry, arrived, passed)

    def _judge(self, event: Received, reading: _Reading, entry: Entry, arrived: _Arrived, passed: int) -> None:
        consumer = self.tracker.opened_consumers[event.handle]
        queues = {session.topic for session in consumer.sessions}
        size = max(1, number_in_force(self.view, consumer, "receiver_queue_size") or 1_000)
        room = len(queues) * (size + reading.largest - 1)
        if passed > room:
            self.breach(
                "starved",
                f"{entry} of topic {entry.topic} arrived at consumer {event.handle} at {ms(arrived.frame.t_ns)} and "
                f"was received at {ms(event.t_ns)}, after {passed} messages that arrived later on its connection; "
                f"expected at most {room}, which its queues hold",
                arrived.frame,
                event,
            )
        elif reading.received > room:
            self.exercise(event)

    def _is_judged(self, consumer: OpenedConsumer) -> bool:
        several = len({session.topic for session in consumer.sessions}) > 1 or len(consumer.topics) > 1
        return several and consumer.handle not in self._not_judged
