"""dead-letter.copy-is-complete"""

from __future__ import annotations

from assay_conformance.checks.occasions import Setting
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dead_letter._sending import Kind
from assay_conformance.pulsar.checks.dead_letter._whole_letter import WholeLetter


class DeadLetterCopyIsComplete(WholeLetter):
    requirement = RequirementId("dead-letter.copy-is-complete")
    needs = (Setting("consumer", "max_redeliver_count"),)
    kind = Kind.DEAD
