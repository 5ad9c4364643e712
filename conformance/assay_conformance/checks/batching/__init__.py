"""Batching: when an open batch closes, why it left, what its entry says, what its receipt means, and
what it saves."""

from __future__ import annotations

from assay_conformance.checks.batching.closing import ClosesAtFirstLimit, FlushClosesBatch
from assay_conformance.checks.batching.economy import FramesByBatchSize, LargerBatchesCostLess, WiderLimitsSave
from assay_conformance.checks.batching.entry import CompressedAsOne, DelayedAlone, GoesByLowestId, NamesAllIds
from assay_conformance.checks.batching.keyed import KeyedKeepsOrder, KeyedTellsHighest, OneKeyPerEntry
from assay_conformance.checks.batching.outcome import EndsAsOne
from assay_conformance.checks.batching.oversize import OversizeFailsOwn
from assay_conformance.checks.batching.reasons import HalfBuilds, LeavesForAReason
from assay_conformance.checks.batching.single import TakesBatchesOfOne
from assay_conformance.checks.batching.small_queue import SmallQueueMovesOn

__all__ = [
    "ClosesAtFirstLimit",
    "CompressedAsOne",
    "DelayedAlone",
    "EndsAsOne",
    "FlushClosesBatch",
    "FramesByBatchSize",
    "GoesByLowestId",
    "HalfBuilds",
    "KeyedKeepsOrder",
    "KeyedTellsHighest",
    "LargerBatchesCostLess",
    "LeavesForAReason",
    "NamesAllIds",
    "OneKeyPerEntry",
    "OversizeFailsOwn",
    "SmallQueueMovesOn",
    "TakesBatchesOfOne",
    "WiderLimitsSave",
]
