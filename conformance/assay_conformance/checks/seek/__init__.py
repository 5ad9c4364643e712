"""Seeks: where a consumer goes on, what it tells the broker of it, and what a reader says is left to read."""

from __future__ import annotations

from assay_conformance.checks.seek.arriving import EndsWhenConnected, ForgetsBefore, StartsAtTarget
from assay_conformance.checks.seek.bits import BatchBits
from assay_conformance.checks.seek.more_to_read import KnowsWhetherAny, KnowsWhetherMore
from assay_conformance.checks.seek.pending import OneSeekAtATime

__all__ = [
    "BatchBits",
    "EndsWhenConnected",
    "ForgetsBefore",
    "KnowsWhetherAny",
    "KnowsWhetherMore",
    "OneSeekAtATime",
    "StartsAtTarget",
]
