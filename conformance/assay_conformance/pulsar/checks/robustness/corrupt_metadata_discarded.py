from __future__ import annotations

from assay_conformance.pulsar.checks._discarding import Discarding, judge_acknowledged
from assay_conformance.pulsar.timeline import Says, Timeline, check
from assay_conformance.pulsar.timeline.unreadable import UnreadableMessages

_METADATA = Discarding(
    state="undecodable",
    how="with metadata that cannot be decoded",
    error_of=lambda frame: "" if frame.meta is None and frame.intact is True else None,
)


@check("robustness.corrupt-metadata-discarded")
def corrupt_metadata_discarded(timeline: Timeline) -> Says:
    """robustness.corrupt-metadata-discarded: an entry with metadata that cannot be decoded, under a valid checksum, is
    acknowledged, and has no other effect."""
    yield from judge_acknowledged(timeline, _METADATA, UnreadableMessages(timeline, _METADATA.error_of))
