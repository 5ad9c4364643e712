from __future__ import annotations

from assay_conformance.pulsar.checks._discarding import Discarding, judge_discarded
from assay_conformance.pulsar.timeline import Says, Timeline, check

_DAMAGED = Discarding(
    state="damaged",
    how="with a wrong checksum",
    error_of=lambda frame: "ChecksumMismatch" if frame.intact is False else None,
)


@check("robustness.checksum-mismatch-reported")
def checksum_mismatch_reported(timeline: Timeline) -> Says:
    """robustness.checksum-mismatch-reported: a MESSAGE with a wrong checksum is discarded and reported by an ACK with
    ChecksumMismatch; its permit is returned, and the connection stays open."""
    yield from judge_discarded(timeline, _DAMAGED)
