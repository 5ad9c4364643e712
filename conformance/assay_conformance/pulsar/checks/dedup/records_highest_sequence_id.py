from __future__ import annotations

from assay_conformance.pulsar.checks.dedup._copies import Copied, duplicates_of
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("dedup.records-highest-sequence-id")
def records_highest_sequence_id(timeline: Timeline) -> Says:
    """dedup.records-highest-sequence-id: a SEND after a stored batch, with an id above the batch's first and
    not above its highest, is a duplicate."""
    yield from duplicates_of(timeline, Copied.INSIDE)
