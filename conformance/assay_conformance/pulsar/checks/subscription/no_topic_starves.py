from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from assay_conformance.checks.consumption import entry_on, to_client
from assay_conformance.model.event import Frame, Received
from assay_conformance.pulsar.timeline import Consumer, Entry, Exercised, Says, Timeline, breach, check, ms


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

    def arrives(self, entry: Entry, frame: Frame) -> None:
        """Note a MESSAGE.

        A redelivered message was dropped meanwhile, with its connection: it waits from now on.
        """
        connection, count = self.connections[frame.conn], max(1, len(frame.members))
        is_judged = count == 1 and not frame.redelivery_count
        ahead = connection.arrived - connection.received
        self.arrived[entry] = _Arrived(frame, count, connection.received, ahead, is_judged)
        connection.arrived += count
        self.largest = max(self.largest, count)

    def receives(self, entry: Entry) -> tuple[_Arrived, int] | None:
        """Take a message; return how it arrived, and how many that arrived later were received before it."""
        arrived = self.arrived.get(entry)
        if arrived is None:
            return None
        connection = self.connections[arrived.frame.conn]
        self.received += 1
        connection.received += 1
        arrived.left -= 1
        if arrived.left == 0:
            del self.arrived[entry]
        return arrived, connection.received - 1 - arrived.received - arrived.ahead


def _of_several_topics(timeline: Timeline) -> Iterator[Consumer]:
    for consumer in timeline.consumers:
        if len({session.topic for session in consumer.sessions}) > 1 or len(consumer.topics) > 1:
            yield consumer


@check("subscription.no-topic-starves", of=_of_several_topics)
def no_topic_starves(timeline: Timeline, consumer: Consumer) -> Says:
    """subscription.no-topic-starves: before a message, no more later messages of other topics are received than all
    queues of the consumer hold.

    Later are those that arrived after it on its own connection, since the order across connections is unknown. Judged
    for messages that come for the first time, alone in their entry, to consumers that never seek, pause or nack.
    """
    reading = _Reading()
    keys = ("receiver_queue_size", "batch_receive_max_messages")
    size, batch = (timeline.setting(consumer, key) or 0 for key in keys)
    queue = max(size or 1_000, batch)
    for event, entry in _until_it_moves(timeline, consumer):
        if isinstance(event, Frame):
            reading.arrives(entry, event)
            continue
        arrived, passed = reading.receives(entry) or (None, 0)
        if arrived is None or not arrived.is_judged:
            continue
        topics = {session.topic for session in consumer.sessions if session.request.seq < event.seq}
        room = len(topics) * (queue + reading.largest - 1)
        if passed > room:
            yield breach(
                "starved",
                f"{entry} of topic {entry.topic} arrived at consumer {event.handle} at {ms(arrived.frame.t_ns)} and "
                f"was received at {ms(event.t_ns)}, after {passed} messages that arrived later on its connection; "
                f"expected at most {room}, which its queues hold",
                *(arrived.frame, event),
            )
        elif reading.received > room:
            yield Exercised(event)


def _until_it_moves(timeline: Timeline, consumer: Consumer) -> list[tuple[Frame | Received, Entry]]:
    """Return what came and what the application got, in order, until the consumer seeks, pauses or nacks."""
    frames = ((one, frame) for one, frame in timeline.frames_of(consumer, "MESSAGE") if to_client(frame))
    messages = ((message, timeline.entry_of(message)) for message in timeline.received(consumer))
    found: list[tuple[Frame | Received, Entry]] = [
        *((frame, entry_on(session, frame.ids[0])) for session, frame in frames),
        *((message, entry) for message, entry in messages if entry is not None),
    ]
    end = next(
        iter(timeline.events.invokes_of(consumer.handle, "seek", "pause", "nack", "redeliver_all")), timeline.ended
    )
    return sorted((one for one in found if one[0].seq <= end.seq), key=lambda one: one[0].seq)
