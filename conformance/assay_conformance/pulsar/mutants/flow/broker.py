"""Brokers that mistake permits and the limits of unacknowledged messages."""

from __future__ import annotations

from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.dispatch import Dispatcher
from assay_conformance.broker.sharing import Sharing
from assay_conformance.broker.store import Entry


class FlowCountsEntries(Dispatcher):
    """An entry costs one permit, however many messages it holds."""

    breaks = "flow.permits-count-messages"
    stands_for = "permits counted in entries, where they are messages"

    def _send(self, consumer: Consumer, entry: Entry, *, redeliveries: int = 0, epoch: int | None = None) -> int:
        charged = super()._send(consumer, entry, redeliveries=redeliveries, epoch=epoch)
        if charged:
            consumer.permits += charged - 1
        return charged


class MaxUnackedIgnored(Sharing):
    """The limits of unacknowledged messages per consumer and subscription are ignored."""

    breaks = "flow.max-unacked-messages"
    stands_for = "maxUnackedMessagesPerConsumer and maxUnackedMessagesPerSubscription not read"

    def _block(self, consumer: Consumer) -> None:
        pass


class FlowLostWhileBlocked(Sharing):
    """FLOW of a consumer that has reached its limit of unacknowledged messages is ignored."""

    breaks = "flow.max-unacked-messages"
    stands_for = "FLOW of a blocked consumer dropped, although its permits count once it is unblocked"

    def flow(self, consumer: Consumer, permits: int) -> None:
        if consumer.blocked:
            self._idle = False
        else:
            super().flow(consumer, permits)
