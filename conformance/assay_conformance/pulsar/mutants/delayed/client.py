"""Clients that misstate when a message is due."""

from __future__ import annotations

from assay_conformance.client.ops import OpBuilder, Sent
from assay_conformance.wire import MessageMetadata


class DeliverAtInSeconds(OpBuilder):
    """Deliver_at_time is written in seconds."""

    breaks = "delayed.sets-deliver-at-time"
    stands_for = "a unit that is missing from the name"

    def _metadata(self, sent: Sent, unix_ms: int, *, whole: bool = True) -> MessageMetadata:
        metadata = super()._metadata(sent, unix_ms, whole=whole)
        if metadata.HasField("deliver_at_time"):
            metadata.deliver_at_time //= 1_000
        return metadata
