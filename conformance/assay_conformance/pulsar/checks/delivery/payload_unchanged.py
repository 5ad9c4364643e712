"""delivery.payload-unchanged"""

from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.delivery._rows import RowsCheck


class PayloadUnchanged(RowsCheck):
    requirement = RequirementId(clauses.AS_SENT)
