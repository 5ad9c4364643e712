"""Acknowledging messages of a batch, which the broker stores and settles as one entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import in_force
from assay_conformance.model.event import Event, MessageId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import Consumer, Entry, Timeline
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


def is_kept(timeline: Timeline, entry: Entry) -> bool:
    """Return whether an entry is kept until it is acknowledged: no ACK is owed of what a topic does not store."""
    return base_topic(entry.topic) not in timeline.non_persistent


class Skipped(NamedTuple):
    """A seek to a message of a batch: what is before that, and the message itself, is as good as acknowledged."""

    seq: int
    id: MessageId


class Seeks:
    """Those of one consumer to messages."""

    def __init__(self, timeline: Timeline, consumer: Consumer) -> None:
        calls = timeline.events.invokes_of(consumer.handle, "seek")
        named = ((call.seq, call.args.get("message_id")) for call in calls)
        self._skipped = [Skipped(seq, MessageId(*id)) for seq, id in named if id is not None]

    def skipped(self, entry: Entry, size: int, before: Event) -> set[int]:
        """Return the messages of a batch that a seek ahead of an event passed over: a client may acknowledge them."""
        found: set[int] = set()
        for seq, id in self._skipped:
            if seq < before.seq and id.position == (entry.ledger, entry.entry):
                found.update(range(size if id.batch_index < 0 else min(id.batch_index + 1, size)))
        return found
