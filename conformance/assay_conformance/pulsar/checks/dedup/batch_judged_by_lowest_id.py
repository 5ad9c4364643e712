from __future__ import annotations

from assay_conformance.pulsar.checks.dedup._copies import Copied, duplicates_of
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("dedup.batch-judged-by-lowest-id")
def batch_judged_by_lowest_id(timeline: Timeline) -> Says:
    """dedup.batch-judged-by-lowest-id: a batch whose first id is stored already and whose last id is not is
    a duplicate."""
    yield from duplicates_of(timeline, Copied.STRADDLING)
