"""The history as rows of a ledger, and what the rules of ledgers report, for clauses that they also judge in a
history."""

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
"""Other clauses need more of what the witnesses recorded than rows hold."""


def judged_rows(view: View) -> HistoryJudged:
    """Return the rows of an attempt, after its last event, and the rules that have seen each of them once."""
    transcript = transcribe(view.tracker.history, view.case, view.facts, asked=ASKED)
    return judge_history(transcript, ASKED)
