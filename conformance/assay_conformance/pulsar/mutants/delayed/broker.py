"""Brokers that deliver delayed messages at the wrong time."""

from __future__ import annotations

from assay_conformance.broker.delayed import Delayed
from assay_conformance.broker.dispatch import SingleActive
from assay_conformance.broker.store import Entry
from assay_conformance.broker.subscription import Subscription


class DelayIgnored(Delayed):
    """Messages with a delivery delay are delivered at once."""

    breaks = "delayed.not-before-deliver-at-time"
    stands_for = "delayedDeliveryEnabled or deliver_at_time not read"

    def keeps(self, entry: Entry) -> bool:
        return False


class ExclusiveWaitsForDelay(SingleActive):
    """On Exclusive and Failover subscriptions a delayed message and all later ones wait for its delivery time."""

    breaks = "delayed.ignored-on-exclusive-and-failover"
    stands_for = "the tracker of delayed messages also used by dispatchers that keep order"

    def _holds_back(self, entry: Entry) -> bool:
        wait_ms = 0 if entry.metadata is None else entry.metadata.deliver_at_time - self._host.unix_ms
        if wait_ms <= 0:
            return super()._holds_back(entry)
        self._cursor.next = entry.index
        self._host.after(wait_ms, self.read)
        return True


class DelayedLostOnUnload(Subscription):
    """Delayed messages that are not due when their topic is loaded again are never delivered."""

    breaks = "delayed.survives-restart"
    stands_for = "a tracker in memory that acknowledges its messages when the topic is closed"

    def _restore(self) -> None:
        super()._restore()
        for entry in self._store.entries[self.cursor.mark :]:
            if entry.metadata is not None and entry.metadata.deliver_at_time > self._host.unix_ms:
                self.cursor.ack(entry.index)
