"""robustness.corrupt-metadata-discarded"""

from __future__ import annotations

from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.robustness._unreadable import Discarded


class CorruptMetadataDiscarded(Discarded):
    """Metadata that cannot be decoded, with a valid checksum."""

    requirement = RequirementId("robustness.corrupt-metadata-discarded")
    needs = (Trait.UNREADABLE,)
    what = "metadata that cannot be decoded"
    expected = "an ACK of it"

    def is_bad(self, frame: Frame) -> bool:
        return frame.meta is None and frame.intact is True

    def answers(self, ack: Frame) -> bool:
        del ack
        return True
