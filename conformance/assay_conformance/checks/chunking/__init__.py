"""Chunking: a large message leaves as chunks that fit, and arrives as one, or not at all."""

from __future__ import annotations

from assay_conformance.checks.chunking.dropping import BoundedBuffer, GapDiscards, RestartsAtFirstChunk
from assay_conformance.checks.chunking.expiry import Expires
from assay_conformance.checks.chunking.ids import IdSpansChunks
from assay_conformance.checks.chunking.keeping import AcksEveryChunk, AssembledByUuid
from assay_conformance.checks.chunking.limits import (
    ChunksFitLimit,
    ChunksKeepSetting,
    ExcludesBatching,
    RefusesOversize,
    UuidNamesMessage,
)
from assay_conformance.checks.chunking.permits import ChunksHoldPermits, PermitsReturn
from assay_conformance.checks.chunking.repeated import RepeatedChunk
from assay_conformance.checks.chunking.resending import SurvivesReconnect
from assay_conformance.checks.chunking.sending import SplitsLarge
from assay_conformance.checks.chunking.whole import WholeOnly

__all__ = [
    "AcksEveryChunk",
    "AssembledByUuid",
    "BoundedBuffer",
    "ChunksFitLimit",
    "ChunksHoldPermits",
    "ChunksKeepSetting",
    "ExcludesBatching",
    "Expires",
    "GapDiscards",
    "IdSpansChunks",
    "PermitsReturn",
    "RefusesOversize",
    "RepeatedChunk",
    "RestartsAtFirstChunk",
    "SplitsLarge",
    "SurvivesReconnect",
    "UuidNamesMessage",
    "WholeOnly",
]
