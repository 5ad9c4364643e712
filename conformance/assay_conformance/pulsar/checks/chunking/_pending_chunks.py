"""Room for chunked messages: each chunk is one of what may be without a receipt, and gives its place back once.

`flow.max-pending-messages` counts messages; here chunks count, one by one. Judged are producers that chunk.
"""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.lines import Unit
from assay_conformance.pulsar.checks.flow._full_queue import DEFAULT_MAX_PENDING


class ChunkingProducers(Check):
    def limit(self, handle: int) -> int:
        """How many places its queue has; 0 = any number."""
        told = self.view.producer_setting(handle, "max_pending_messages")
        return DEFAULT_MAX_PENDING if told is None else int(told)

    def judges(self, handle: int) -> bool:
        lines, opening = self.tracker.lines, self.tracker.lines.openings.get(handle)
        whole = handle not in lines.torn_sends | lines.burst and not lines.forged_receipts
        topics = {topic.name for topic in self.view.case.topology.topics if topic.partitions}
        alone = opening is not None and opening.args.get("topic") not in topics
        return whole and alone and self.view.producer_setting(handle, "chunking") is True


def is_chunk(unit: Unit) -> bool:
    return unit.first.meta is not None and unit.first.meta.chunk_id is not None
