"""Brokers that lose messages."""

from __future__ import annotations

from assay_conformance.broker.publishing import Publish, Publishing
from assay_conformance.pulsar.mutants._unwritten import receipt_unwritten


class LosesReceiptedAppend(Publishing):
    """Every third append gets its receipt and is not stored."""

    breaks = "delivery.successful-send-is-stored"
    stands_for = "the receipt sent before the write is acknowledged by the bookies, and the write lost"

    _count = 0

    def _write(self, publish: Publish) -> None:
        self._count += 1
        if self._count % 3 or self._store.waits:
            super()._write(publish)
        else:
            receipt_unwritten(self, publish, self._store, self._count // 3)
