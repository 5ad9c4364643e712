"""dedup.duplicate-not-stored"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dedup._copies import Copied, CopiesCheck


class DuplicateNotStored(CopiesCheck):
    """A SEND whose id is not above the first id of what was stored last under its producer name."""

    requirement = RequirementId("dedup.duplicate-not-stored")
    kinds = frozenset({Copied.AGAIN})
