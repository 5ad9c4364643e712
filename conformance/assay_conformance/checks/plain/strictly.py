"""Going along with a plain stretch: every event is the one that was to come, or the stretch is over.

Each method answers whether the event was. What it asks is more than any requirement does: in turn where some order is
free, and within bounds that leave most of the slack of every tolerance unused. What the wire carries: `frames`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from assay_conformance.checks.plain.frames import PROMPT_NS, Frames
from assay_conformance.checks.plain.standing import Message, Standing
from assay_conformance.model.event import (
    ClockOffset,
    Completion,
    Event,
    Frame,
    Invoke,
    Load,
    Outcome,
    Received,
    Stepped,
    Stored,
    Waited,
)

_OK = Outcome.OK
_ACK_ARGS: Final = frozenset({"all", "consumer", "messages"})
_SEND_ARGS: Final = {"size"}


class Strictly:
    """`silence_ns`: how long a connection may go without anything that is written to its client."""

    def __init__(self, standing: Standing, silence_ns: int) -> None:
        self.standing = standing
        self._silence_ns = silence_ns
        self._acks: dict[int, list[Message]] = {}
        """Ack operation -> what it named."""
        self.beside: list[Event] = []
        """What went by beside the messages, and the ACKs, each of which names many."""
        frames = Frames(standing, silence_ns, self.beside)
        self.kinds: dict[type, Callable[[Any], bool]] = {
            Invoke: self._invoke,
            Completion: self._completion,
            Received: self._received,
            Frame: frames.see,
            Stored: frames.stored,
            **dict.fromkeys(_BESIDE, self._goes_by),
        }

    def begin(self) -> bool:
        """Nothing is under way; False where a consumer owes permits, or acknowledgments of a full group."""
        self._acks.clear()
        self.standing.heard_ns.clear()
        self.standing.under_way = 0
        for reading in self.standing.readings.values():
            reading.taken = reading.queue - reading.granted + reading.dispatched
            reading.ripe_ns = reading.fields = None
            if reading.queue and reading.taken >= reading.refill:
                return False
        return all(len(one.acking) < one.group_max for one in self.standing.consumers.values())

    def is_still(self, now_ns: int) -> bool:
        """Nothing is under way but acknowledgments that wait for their group, and nobody was left alone for long."""
        standing = self.standing
        return (
            not standing.under_way
            and all(one.ripe_ns is None for one in standing.readings.values())
            and all(now_ns - standing.heard_ns.get(conn, now_ns) <= self._silence_ns for conn in standing.connections)
        )

    def _goes_by(self, event: Event) -> bool:
        self.beside.append(event)
        return True

    # --- agent ---

    def _invoke(self, event: Invoke) -> bool:
        if event.verb == "send":
            producer = self.standing.producers.get(event.handle or 0)
            if producer is None or event.number != producer.next_number or event.args.keys() != _SEND_ARGS:
                return False
            message = Message(event.handle or 0, event.number, event.size, event.digest, event.op, event.t_ns)
            producer.next_number += 1
            producer.asked.append(message)
            producer.open.append(message)
        elif event.verb == "receive" or (event.verb == "ack" and self._to_acknowledge(event)):
            self.standing.calls.add(event.op)
        else:
            return False
        self.standing.operation = event.op
        self.standing.under_way += 1
        return True

    def _to_acknowledge(self, event: Invoke) -> bool:
        consumer = self.standing.consumers.get(event.handle or 0)
        if consumer is None or not event.args.keys() <= _ACK_ARGS:
            return False
        messages = [consumer.held.pop(delivery, None) for delivery in event.args.get("messages", ())]
        for message in messages:
            if message is None or message.position is None:
                return False
            message.acked_ns = event.t_ns
            consumer.acking[message.position] = message
        self._acks[event.op] = messages  # type: ignore[assignment]
        return True

    def _completion(self, event: Completion) -> bool:
        if event.outcome is not _OK:
            return False
        self.standing.under_way -= 1
        if event.verb == "send":
            return self._told(event)
        if event.op not in self.standing.calls:
            return False
        self.standing.calls.remove(event.op)
        return event.verb != "ack" or self._acknowledged(event)

    def _acknowledged(self, event: Completion) -> bool:
        consumer, messages = self.standing.consumers.get(event.handle or 0), self._acks.pop(event.op, None)
        if consumer is None or messages is None:
            return False
        for message in messages:
            if message.position in consumer.acking:
                message.called = True
                consumer.called += 1
                self.standing.under_way -= 1
        if consumer.full_ns is None and len(consumer.acking) >= consumer.group_max:
            consumer.full_ns = event.t_ns
        return True

    def _told(self, event: Completion) -> bool:
        producer = self.standing.producers.get(event.handle or 0)
        if producer is None or not producer.open:
            return False
        message, id = producer.open.popleft(), event.message_id
        return (
            message.op == event.op
            and message.receipted
            and (id is None or id.position == message.position)
            and (event.sequence_id is None or event.sequence_id == message.sequence_id)
            and event.t_ns - message.asked_ns <= PROMPT_NS
        )

    def _received(self, event: Received) -> bool:
        consumer = self.standing.consumers.get(event.handle)
        if consumer is None or not consumer.handed or consumer.reading is None:
            return False
        message, identity, reading = consumer.handed.popleft(), event.identity, consumer.reading
        consumer.delivery += 1
        consumer.held[consumer.delivery] = message
        reading.taken += 1
        if reading.ripe_ns is None and reading.taken >= reading.refill:
            reading.ripe_ns = event.t_ns
        return (
            event.delivery == consumer.delivery
            and event.message_id.position == message.position
            and event.message_id.batch_index < 0
            and event.size == message.size
            and event.digest == message.digest
            and identity is not None
            and identity.number == message.number
            and identity.handle == message.handle
            and identity.case == self.standing.case_number
            and not event.redelivery_count
            and event.topic in (None, consumer.log.full_name)
            and event.key is None
            and not event.properties
            and not event.event_time_ms
            and (event.sequence_id is None or event.sequence_id == message.sequence_id)
        )


_BESIDE: Final = (Stepped, Waited, Load, ClockOffset)
"""What may go by in a plain stretch, and is never left out."""
