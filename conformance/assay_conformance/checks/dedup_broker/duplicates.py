"""A duplicate is not stored, and its answer says so."""

from __future__ import annotations

from assay_conformance.checks.dedup_broker.copies import Copied, CopiesCheck
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.requirement import RequirementId


class DuplicateNotStored(CopiesCheck):
    """A SEND that reaches the broker with an id at or below the first id of what is stored last under its name."""

    requirement = RequirementId("dedup.duplicate-not-stored")
    kinds = frozenset({Copied.AGAIN})


class RecordsHighestId(CopiesCheck):
    """Behind a stored batch, a SEND with an id that only its highest one covers."""

    requirement = RequirementId("dedup.records-highest-sequence-id")
    needs = (Trait.BATCH,)
    kinds = frozenset({Copied.INSIDE})


class BatchStandsOrFalls(CopiesCheck):
    """A batch that begins with an id that is stored and ends with one that is not."""

    requirement = RequirementId("dedup.batch-judged-by-lowest-id")
    needs = (Trait.BATCH,)
    kinds = frozenset({Copied.STRADDLING})
