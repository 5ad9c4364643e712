"""The verdicts on a ledger: every rule over the rows that were picked, and the sums over all rows.

The rows may be all there are, or those of flagged buckets. The verdicts are the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay_conformance.catalogue import Catalogue
from assay_conformance.ledger.collection import Rows, Small, Sums
from assay_conformance.ledger.info import LedgerInfo
from assay_conformance.model.verdict import RequirementVerdict

MAX_FINDINGS = 20
"""Findings told of a requirement; the others are counted."""


def judge_rows(
    rows: Rows,
    small: Small,
    info: LedgerInfo,
    sums: Sums,
    catalogue: Catalogue,
    beyond: Mapping[str, int] | None = None,
) -> tuple[RequirementVerdict, ...]:
    """A verdict for each requirement that ledgers are judged by, in catalogue order.

    `beyond`: requirement -> flagged buckets whose rows are not among `rows`, because there were too many. What was
    exercised nowhere is `untestable`, what could not be decided `inconclusive`.
    """
    raise NotImplementedError
