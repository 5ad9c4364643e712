"""robustness.checksum-mismatch-reported"""

from __future__ import annotations

from assay_conformance.checks.discarding import Discarding
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class ChecksumMismatchReported(Discarding):
    """A MESSAGE with a wrong checksum."""

    requirement = RequirementId("robustness.checksum-mismatch-reported")
    needs = (Trait.HARMED,)
    state = "damaged"
    how = "with a wrong checksum"

    def reason(self, event: Frame) -> str | None:
        return "ChecksumMismatch" if event.intact is False else None
