from __future__ import annotations

from assay_conformance.pulsar.checks.dedup._copies import Copied, duplicates_of
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("dedup.duplicate-not-stored")
def duplicate_not_stored(timeline: Timeline) -> Says:
    """dedup.duplicate-not-stored: a SEND whose id is not above the first id of what was stored last under its
    producer name is a duplicate."""
    yield from duplicates_of(timeline, Copied.AGAIN)
