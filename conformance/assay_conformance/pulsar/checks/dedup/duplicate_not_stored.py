"""dedup.duplicate-not-stored"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dedup._copies import Copied, CopiesCheck


class DuplicateNotStored(CopiesCheck):
    """A SEND that reaches the broker with an id at or below the first id of what is stored last under its name."""

    requirement = RequirementId("dedup.duplicate-not-stored")
    kinds = frozenset({Copied.AGAIN})
