"""The history as rows: what rules of ledgers make of it, for the clauses that they judge in a history, too."""

from __future__ import annotations

from typing import Final

from assay_conformance.checks.base import View
from assay_conformance.ledger import clauses
from assay_conformance.ledger.from_history import transcribe
from assay_conformance.ledger.from_history.evidence import HistoryJudged, judge_history

ASKED: Final = frozenset(
    {
        clauses.FAILED,
        clauses.INVENTED,
        clauses.CONTRACT,
        clauses.AS_SENT,
        clauses.FLOWS,
        clauses.WINDOWS,
        clauses.LOST,
        clauses.STORED_OK,
    }
)
"""Other clauses are judged by all that the witnesses know, of which rows leave out much."""


def judged_rows(view: View) -> HistoryJudged:
    """Return the rows of an attempt, after its last event, and the rules that have seen each of them once."""
    transcript = transcribe(view.tracker.history, view.case, view.facts, asked=ASKED)
    return judge_history(transcript, ASKED)
