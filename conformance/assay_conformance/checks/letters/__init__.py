"""Retry letters and dead letters: whole copies, originals settled by them, neither too soon nor too late."""

from __future__ import annotations

from assay_conformance.checks.letters.burying import BuriedThenAcked, LargeIsBuried
from assay_conformance.checks.letters.copies import WholeDeadLetter, WholeRetryLetter
from assay_conformance.checks.letters.counting import CountsToItsMaximum
from assay_conformance.checks.letters.producers import AsksForFirstSubscription, BuriedAlone
from assay_conformance.checks.letters.settling import RetriedThenAcked

__all__ = [
    "AsksForFirstSubscription",
    "BuriedAlone",
    "BuriedThenAcked",
    "CountsToItsMaximum",
    "LargeIsBuried",
    "RetriedThenAcked",
    "WholeDeadLetter",
    "WholeRetryLetter",
]
