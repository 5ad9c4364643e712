"""Batching: when an open batch closes, what its entry says, and what its receipt means."""

from __future__ import annotations

from assay_conformance.checks.batching.closing import ClosesAtFirstLimit, FlushClosesBatch, SmallQueueMovesOn
from assay_conformance.checks.batching.entry import CompressedAsOne, DelayedAlone, NamesAllIds
from assay_conformance.checks.batching.keyed import KeyedKeepsOrder, KeyedTellsHighest, OneKeyPerEntry
from assay_conformance.checks.batching.outcome import EndsAsOne
from assay_conformance.checks.batching.oversize import OversizeFailsOwn
from assay_conformance.checks.batching.single import TakesBatchesOfOne

__all__ = [
    "ClosesAtFirstLimit",
    "CompressedAsOne",
    "DelayedAlone",
    "EndsAsOne",
    "FlushClosesBatch",
    "KeyedKeepsOrder",
    "KeyedTellsHighest",
    "NamesAllIds",
    "OneKeyPerEntry",
    "OversizeFailsOwn",
    "SmallQueueMovesOn",
    "TakesBatchesOfOne",
]
