"""Brokers that lose what a topic holds."""

from __future__ import annotations

from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.store import Entry
from assay_conformance.broker.topic import Topic
from assay_conformance.broker.transient import Passing


class CrashLosesLastEntry(Topic):
    """A broker that crashes loses the last entry of each topic, unless a subscription has acknowledged it."""

    breaks = "topics.ownership-change-loses-nothing"
    stands_for = "a receipt sent when an entry is in memory, not when it is durable"

    def reload(self, *, crashed: bool = False) -> None:
        if crashed:
            self.store.take_waiting()
            self._lose_last_entry()
        super().reload(crashed=crashed)

    def _lose_last_entry(self) -> None:
        last = len(self.store.entries) - 1
        if last >= 0 and not any(kept.cursor.is_acked(last) for kept in self.subscriptions.values()):
            self.store.entries.pop()


class NonPersistentKeepsUndelivered(Passing):
    """Messages of a non-persistent topic for which there was no consumer with permits are sent to the next one."""

    breaks = "topics.non-persistent-not-stored"
    stands_for = "messages of a non-persistent topic kept for consumers without permits"

    _missed: tuple[Entry, ...] = ()

    def _miss(self, entry: Entry, *, able: bool) -> None:
        self._missed = *self._missed, entry

    def flow(self, consumer: Consumer, permits: int) -> None:
        super().flow(consumer, permits)
        missed, self._missed = self._missed, ()
        for entry in missed:
            self.pass_on(entry)
