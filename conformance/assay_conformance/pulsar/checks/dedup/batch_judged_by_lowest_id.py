"""dedup.batch-judged-by-lowest-id"""

from __future__ import annotations

from assay_conformance.checks.occasions import Trait
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dedup._copies import Copied, CopiesCheck


class BatchJudgedByLowestId(CopiesCheck):
    """A batch whose first id is stored already and whose last id is not."""

    requirement = RequirementId("dedup.batch-judged-by-lowest-id")
    needs = (Trait.BATCH,)
    kinds = frozenset({Copied.STRADDLING})
