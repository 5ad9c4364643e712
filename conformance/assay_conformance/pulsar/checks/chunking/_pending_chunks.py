"""The pending queue of a chunking producer: each chunk takes one place, and frees it once.

`flow.max-pending-messages` counts messages; here each chunk counts. Judged are producers with chunking enabled.
"""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.lines import Unit
from assay_conformance.pulsar.checks.flow._full_queue import DEFAULT_MAX_PENDING


class ChunkingProducers(Check):
    def limit(self, handle: int) -> int:
        """Return the number of places in its queue; 0 means without a limit."""
        configured = self.view.producer_setting(handle, "max_pending_messages")
        return DEFAULT_MAX_PENDING if configured is None else int(configured)

    def judges(self, handle: int) -> bool:
        lines, opening = self.tracker.lines, self.tracker.lines.openings.get(handle)
        whole = handle not in lines.torn_sends | lines.burst and not lines.forged_receipts
        topics = {topic.name for topic in self.view.case.topology.topics if topic.partitions}
        alone = opening is not None and opening.args.get("topic") not in topics
        return whole and alone and self.view.producer_setting(handle, "chunking") is True


def is_chunk(unit: Unit) -> bool:
    return unit.first.meta is not None and unit.first.meta.chunk_id is not None
