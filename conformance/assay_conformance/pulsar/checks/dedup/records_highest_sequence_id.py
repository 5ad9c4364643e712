"""dedup.records-highest-sequence-id"""

from __future__ import annotations

from assay_conformance.checks.occasions import Trait
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dedup._copies import Copied, CopiesCheck


class RecordsHighestSequenceId(CopiesCheck):
    """Behind a stored batch, a SEND with an id that only its highest one covers."""

    requirement = RequirementId("dedup.records-highest-sequence-id")
    needs = (Trait.BATCH,)
    kinds = frozenset({Copied.INSIDE})
