"""Clients that fetch more than their queue holds, or keep what they fetched."""

from __future__ import annotations

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.handed import Inbound
from assay_conformance.client.permits import Permits

BESIDE = 10


class _TenBeside(Permits):
    """`_beside`: those that wait beside the queue, whose permits are granted again already; `_queued`: after them."""

    _beside = 0
    _queued = 0

    def registered(self, *, first: bool) -> None:
        self._beside = self._queued = 0
        super().registered(first=first)

    def arrived(self) -> None:
        if self._size == 0 or self._beside == BESIDE:
            self._queued += 1
        else:
            self._beside += 1
            self.give_back(1)

    def handed_over(self, *, current: bool) -> None:
        if self._queued:
            self._queued -= 1
            super().handed_over(current=current)
        elif self._beside:
            self._beside -= 1


class KeepsTenBesideItsQueue(Consumer):
    """Ten messages wait in addition to the queue, whose permits are renewed meanwhile; a redelivery of everything drops
    none of them."""

    as_in = "Go client, consumer_impl: messageCh of ten, to which consumer_partition: dispatcher moves what is queued"
    within = (
        "ack.grouped-ack-filters-redelivery",
        "flow.dropped-message-returns-permit",
        "flow.waiting-receive-has-permits",
    )
    also = (_TenBeside,)
    lacks = frozenset({"consumer_epoch"})

    def _enqueue(self, inbound: Inbound) -> None:
        if isinstance(self._permits, _TenBeside):
            self._permits.arrived()
        super()._enqueue(inbound)

    def _all_again(self) -> None:
        """Keep prefetched messages: they are delivered, and once more when they are redelivered."""
        self._arrivals.clear()
