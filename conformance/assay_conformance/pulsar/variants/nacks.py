"""Clients whose refused messages are due by a clock of their own."""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.client.handed import Handed
from assay_conformance.client.redelivery import Redelivery
from assay_conformance.client.shared import MS

PRECISION_MS = 256


class CoarseNackClock(Redelivery[Handed]):
    """Times of redelivery lose their lower eight bits, which here are all set, and no option changes that."""

    as_in = "Go client, negative_acks_tracker: NackPrecisionBit; the default of Java clients since 4.1"
    within = (
        "nack.redelivery-requested-in-time",
        "nack.minimum-delay",
        "nack.acked-not-redelivered",
        "nack.ends-ack-timeout",
        "nack.backoff-grows",
    )
    fixes: ClassVar = {"nack_precision_ms": PRECISION_MS}

    def _nack_due_ns(self, redelivery_count: int) -> int:
        return super()._nack_due_ns(redelivery_count) - (PRECISION_MS - 1) * MS
