"""Trying a check on a history: the codes of what it found, and how often it was exercised."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case


def codes_of(check: Check) -> list[str]:
    return [finding.code for finding in check.findings]


def judged(check: type[Check], story: Script, case: Case = ANY_CASE) -> tuple[list[str], int]:
    """Codes, and how often it was exercised."""
    said = trial(check, story.done(), case)
    return codes_of(said), said.exercised
