"""Going along with a plain stretch: every event is the one that was to come, or the stretch is over.

Each method answers whether the event was. What it asks is more than any requirement does: in turn where some order is
free, and within bounds that leave most of the slack of every tolerance unused. What the wire carries: `frames`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from assay_conformance.checks.plain.frames import PROMPT_NS, Frames
from assay_conformance.checks.plain.standing import Consumer, Message, Standing
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
    """`silence_ns`: how long a connection may go without anything that is written to its client, if anything is."""

    def __init__(self, standing: Standing, silence_ns: int) -> None:
        self.standing = standing
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
        """Nothing is under way; False where a consumer owes permits, or acknowledgments of a full group, where client
        and broker count permits otherwise, or a SEND has no answer."""
        self._acks.clear()
        self.standing.under_way = 0
        for reading in self.standing.readings.values():
            reading.taken = reading.queue - reading.granted + reading.dispatched
            reading.ripe_ns = reading.fields = None
            if reading.astray or (reading.queue and reading.taken >= reading.refill):
                return False
        if any(writing.unanswered for writing in self.standing.writings.values()):
            return False
        return all(len(one.acking) < one.group_max and not one.repeats for one in self.standing.consumers.values())

    @property
    def is_still(self) -> bool:
        """Nothing is under way but acknowledgments that wait for their group."""
        return not self.standing.under_way and all(one.ripe_ns is None for one in self.standing.readings.values())

    def is_calm(self, now_ns: int) -> bool:
        """No ACK has left for so long that the next one cannot be too soon."""
        return all(
            one.acked_ns is None or one.consumer is None or now_ns - one.acked_ns >= one.consumer.group_ns // 2
            for one in self.standing.readings.values()
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
            self.standing.calls[event.op] = event.args.get("count", 0)
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
        if event.outcome is not _OK or event.error is not None:
            return False
        self.standing.under_way -= 1
        if event.verb == "send":
            return self._told(event)
        asked = self.standing.calls.pop(event.op, None)
        if asked is None:
            return False
        return self._acknowledged(event) if event.verb == "ack" else self._brought(event, asked)

    def _brought(self, event: Completion, asked: int) -> bool:
        """Who got less than it asked for got all there was, and there was nothing to ask for again."""
        consumer = self.standing.consumers.get(event.handle or 0)
        if consumer is None or (event.count or 0) >= asked:
            return consumer is not None
        return not consumer.handed and (consumer.reading is None or consumer.reading.ripe_ns is None)

    def _acknowledged(self, event: Completion) -> bool:
        consumer, messages = self.standing.consumers.get(event.handle or 0), self._acks.pop(event.op, None)
        if consumer is None or messages is None or not _is_prompt(event, messages, consumer):
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
        if producer is None or not producer.open or producer.open[0].op != event.op:
            return False
        message, id = producer.open.popleft(), event.message_id
        return (
            message.receipted
            and (id is None or id.position == message.position)
            and (event.sequence_id is None or event.sequence_id == message.sequence_id)
            and event.t_ns - message.asked_ns <= PROMPT_NS
            and (event.called_ns is None or event.called_ns >= message.asked_ns - PROMPT_NS)
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
            and event.message_id.partition < 0
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


def _is_prompt(event: Completion, messages: Sequence[Message], consumer: Consumer) -> bool:
    """Whether it came in time. For one message the call's own time is recorded: no earlier than it was asked to, and no
    ACK has left since without that message."""
    called_ns = event.called_ns
    if len(messages) != 1 or called_ns is None:
        return True
    message, left_ns = messages[0], None if consumer.reading is None else consumer.reading.acked_ns
    passed_over = left_ns is not None and left_ns > called_ns and message.position in consumer.acking
    return called_ns >= message.acked_ns - PROMPT_NS and not passed_over


_BESIDE: Final = (Stepped, Waited, Load, ClockOffset)
"""What may go by in a plain stretch, and is never left out."""
