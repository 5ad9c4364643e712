"""Brokers that mistake redeliveries."""

from __future__ import annotations

from assay_conformance.broker.cursor import Cursor
from assay_conformance.broker.sharing import Sharing


class RedeliversAcked(Cursor):
    """A rewind of a cursor redelivers acknowledged entries."""

    breaks = "nack.acked-not-redelivered"
    stands_for = "a rewind to the first entry instead of the first unacknowledged one"

    def rewind(self) -> None:
        self.reset(0)
        super().rewind()


class RedeliveryCountStaysZero(Sharing):
    """The redelivery count stays 0."""

    breaks = "nack.redelivery-count"
    stands_for = "a redelivery tracker that is disabled for all subscriptions"

    def _count_redelivery(self, index: int) -> None:
        pass
