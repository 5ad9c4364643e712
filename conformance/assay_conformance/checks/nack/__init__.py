"""Negative acknowledgment: what the application refused is asked for again, whole, at its time, and not once it was
acknowledged after all."""

from __future__ import annotations

from assay_conformance.checks.nack.backoff import BackoffGrows, ShortBehindLong
from assay_conformance.checks.nack.chunks import AsksForAllChunks
from assay_conformance.checks.nack.counting import RedeliveriesCounted
from assay_conformance.checks.nack.ending import AckedNotRedelivered, EndsAckTimeout
from assay_conformance.checks.nack.entries import WholeEntry
from assay_conformance.checks.nack.exclusive import AllInOrder
from assay_conformance.checks.nack.merging import Merged
from assay_conformance.checks.nack.pace import DroppedOnClose, LeastDelay, SteadyRefusals
from assay_conformance.checks.nack.timing import RedeliveredInWindow

__all__ = [
    "AckedNotRedelivered",
    "AllInOrder",
    "AsksForAllChunks",
    "BackoffGrows",
    "DroppedOnClose",
    "EndsAckTimeout",
    "LeastDelay",
    "Merged",
    "RedeliveredInWindow",
    "RedeliveriesCounted",
    "ShortBehindLong",
    "SteadyRefusals",
    "WholeEntry",
]
