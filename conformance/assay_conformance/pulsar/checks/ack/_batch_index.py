"""Acknowledging messages of a batch, which the broker stores and settles as one entry."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import in_force, moves_to_dead_letter
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import BatchEntry, Consumer, Timeline
from assay_conformance.pulsar.timeline.readers import is_reader


def batched_consumers(timeline: Timeline, *, index_ack: bool) -> Iterator[Consumer]:
    """Yield consumers that acknowledge messages of batches one by one (`index_ack`), or whole entries only.

    There are none where no batch was sent to any. Readers acknowledge by themselves what the application, or a seek,
    has left behind.
    """
    messages = timeline.events.frames("MESSAGE")
    if any(frame.meta is not None and (frame.meta.batch or 0) > 1 for frame in messages):
        for consumer in timeline.consumers:
            on = timeline.can("batch_index_ack") and in_force(timeline.view, consumer, "batch_index_ack") is not False
            if on is index_ack and not any(is_reader(session) for session in consumer.sessions):
                yield consumer


def kept_batches(timeline: Timeline, *, index_ack: bool) -> Iterator[BatchEntry]:
    """Yield their batches that are kept until the application acknowledges them: no ACK is owed of what a topic does
    not store, and a client may move messages to a dead letter topic."""
    for consumer in batched_consumers(timeline, index_ack=index_ack):
        batches = () if moves_to_dead_letter(timeline.view, consumer) else timeline.batch_entries(consumer).values()
        yield from (batch for batch in batches if base_topic(batch.entry.topic) not in timeline.non_persistent)
