"""delivery.failed-send-is-not-stored"""

from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.delivery._rows import RowsCheck


class FailedSendIsNotStored(RowsCheck):
    requirement = RequirementId(clauses.FAILED)
