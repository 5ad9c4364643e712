"""Brokers that deliver delayed messages at the wrong time."""

from __future__ import annotations

from assay_conformance.broker.delayed import Delayed
from assay_conformance.broker.dispatch import SingleActive
from assay_conformance.broker.store import Entry
from assay_conformance.broker.subscription import Subscription


class DelayIgnored(Delayed):
    """What is to be delivered later is delivered at once."""

    breaks = "delayed.not-before-deliver-at-time"
    stands_for = "delayedDeliveryEnabled not read, or deliver_at_time not looked at"

    def keeps(self, entry: Entry) -> bool:
        return False


class ExclusiveWaitsForDelay(SingleActive):
    """On Exclusive and Failover subscriptions, too, a delayed message waits for its time, and so do all later ones."""

    breaks = "delayed.ignored-on-exclusive-and-failover"
    stands_for = "the tracker of delayed messages used by dispatchers that deliver in order, too"

    def _holds_back(self, entry: Entry) -> bool:
        wait_ms = 0 if entry.metadata is None else entry.metadata.deliver_at_time - self._host.unix_ms
        if wait_ms <= 0:
            return super()._holds_back(entry)
        self._cursor.next = entry.index
        self._host.after(wait_ms, self.read)
        return True


class DelayedLostOnUnload(Subscription):
    """What waits for its time when a topic is loaded again is never delivered."""

    breaks = "delayed.survives-restart"
    stands_for = "a tracker in memory that acknowledges what it holds when its topic is closed"

    def _restore(self) -> None:
        super()._restore()
        for entry in self._store.entries[self.cursor.mark :]:
            if entry.metadata is not None and entry.metadata.deliver_at_time > self._host.unix_ms:
                self.cursor.ack(entry.index)
