"""Batch receives: the messages that each returned, and its limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion, Outcome, Received
from assay_conformance.pulsar.timeline.consumers import Consumer
from assay_conformance.pulsar.timeline.timeline import Timeline

BATCH_RECEIVE = "batch_receive"


class Limits(NamedTuple):
    """0 is no limit. `full_with`: the number of messages with which a batch may be full. A client whose queue holds
    fewer messages than a batch may (`messages`) returns no more than those, or enlarges its queue, as Java's builder
    does."""

    messages: int
    full_with: int
    bytes: int
    timeout_ms: int


class Batch(NamedTuple):
    """A batch receive that succeeded."""

    consumer: Consumer
    end: Completion
    messages: list[Received]
    limits: Limits

    @property
    def size(self) -> int:
        """Bytes of all its messages."""
        return sum(message.size for message in self.messages)


def batches(timeline: Timeline) -> Iterator[Batch]:
    """Yield the batches in order.

    Their messages are recorded right before their ends, with no others of the consumer between.
    """
    for end in timeline.events.completions(BATCH_RECEIVE):
        consumer = timeline.consumer(end.handle)
        if consumer is not None and end.outcome is Outcome.OK:
            before = [message for message in timeline.received(consumer) if message.seq < end.seq]
            count = end.count or 0
            yield Batch(consumer, end, before[len(before) - count :] if count else [], limits(timeline, consumer))


def limits(timeline: Timeline, consumer: Consumer) -> Limits:
    """Return the limits in force for a consumer."""
    queue = timeline.setting(consumer, "receiver_queue_size") or 0
    messages = timeline.setting(consumer, "batch_receive_max_messages") or 0
    return Limits(
        messages,
        min(messages, queue) if queue else messages,
        timeline.setting(consumer, "batch_receive_max_bytes") or 0,
        timeline.setting(consumer, "batch_receive_timeout_ms") or 0,
    )
