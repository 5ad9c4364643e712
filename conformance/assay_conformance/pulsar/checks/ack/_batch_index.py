"""Acknowledging messages of a batch, which the broker stores and settles as one entry."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import in_force
from assay_conformance.pulsar.timeline import Consumer, Timeline


def batched_consumers(timeline: Timeline, *, index_ack: bool) -> Iterator[Consumer]:
    """Consumers that acknowledge messages of batches one by one (`index_ack`), or whole entries only; none where no
    batch was sent to any."""
    messages = timeline.events.frames("MESSAGE")
    if any(frame.meta is not None and (frame.meta.batch or 0) > 1 for frame in messages):
        for consumer in timeline.consumers:
            on = timeline.can("batch_index_ack") and in_force(timeline.view, consumer, "batch_index_ack") is not False
            if on is index_ack:
                yield consumer
