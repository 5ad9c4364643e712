"""dedup.records-highest-sequence-id"""

from __future__ import annotations

from assay_conformance.checks.occasions import Trait
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dedup._copies import Copied, CopiesCheck


class RecordsHighestSequenceId(CopiesCheck):
    """A SEND after a stored batch, with an id above the batch's first and not above its highest."""

    requirement = RequirementId("dedup.records-highest-sequence-id")
    needs = (Trait.BATCH,)
    kinds = frozenset({Copied.INSIDE})
