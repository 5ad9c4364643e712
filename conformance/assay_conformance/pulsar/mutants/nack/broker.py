"""Brokers that mistake redeliveries."""

from __future__ import annotations

from assay_conformance.broker.cursor import Cursor
from assay_conformance.broker.sharing import Sharing


class RedeliversAcked(Cursor):
    """A cursor that is rewound forgets what was acknowledged."""

    breaks = "nack.acked-not-redelivered"
    stands_for = "a rewind to the first entry in place of the first one not acknowledged"

    def rewind(self) -> None:
        self.reset(0)
        super().rewind()


class RedeliveryCountStaysZero(Sharing):
    """Redeliveries are not counted."""

    breaks = "nack.redelivery-count"
    stands_for = "a redelivery tracker that is disabled for all subscriptions"

    def _count_redelivery(self, index: int) -> None:
        pass
