from __future__ import annotations

from assay_conformance.pulsar.checks.robustness._unreadable import Clause, judge_discarded, unreadable
from assay_conformance.pulsar.timeline import Says, Timeline, check

_METADATA = Clause(
    what="metadata that cannot be decoded",
    expected="an ACK of it",
    is_bad=lambda frame: frame.meta is None and frame.intact is True,
    wants=lambda _ack: True,
)


@check("robustness.corrupt-metadata-discarded")
def corrupt_metadata_discarded(timeline: Timeline) -> Says:
    """robustness.corrupt-metadata-discarded: an entry with metadata that cannot be decoded, under a valid checksum, is
    acknowledged, and has no other effect."""
    yield from judge_discarded(timeline, _METADATA, unreadable(timeline, _METADATA))
