"""Delayed delivery (PIP-26): entries of a Shared or Key_Shared subscription whose time has not come.

Kept in memory only: they are not acknowledged, so that a broker that restarts reads them again. Unless delivery is
strict, whatever is due within one tick goes out when something is dispatched anyway; the timer waits for the very time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from assay_conformance.broker.host import Host
from assay_conformance.broker.store import Entry
from assay_conformance.broker.timers import Timer
from assay_conformance.model.policy import DelayedDelivery


class Delayed:
    """`wake` is called when entries are due. Its own timer runs once a tick at most."""

    __slots__ = ("_early_ms", "_heap", "_host", "_rung_ms", "_tick_ms", "_timer", "_wake", "active")

    def __init__(self, host: Host, wake: Callable[[], None]) -> None:
        self._host = host
        self._wake = wake
        self._heap: list[tuple[int, int]] = []
        self._timer: Timer | None = None
        self._rung_ms = 0
        self.take(DelayedDelivery())

    def __len__(self) -> int:
        return len(self._heap)

    def take(self, terms: DelayedDelivery) -> None:
        """Take new settings; entries that wait already go on waiting."""
        self.active = terms.active
        self._tick_ms = terms.tick_ms
        self._early_ms = 0 if self._host.settings.delayed_strict else terms.tick_ms

    def keeps(self, entry: Entry) -> bool:
        """Return whether this entry has to wait; if so, keep it here."""
        metadata = entry.metadata
        at_ms = 0 if metadata is None else metadata.deliver_at_time
        if not self.active or at_ms <= self._host.unix_ms + self._early_ms:
            return False
        heapq.heappush(self._heap, (at_ms, entry.index))
        self._set_timer()
        return True

    def due(self) -> list[int]:
        """Take out what may be delivered now."""
        until_ms = self._host.unix_ms + self._early_ms
        found = []
        while self._heap and self._heap[0][0] <= until_ms:
            found.append(heapq.heappop(self._heap)[1])
        if found:
            self._set_timer()
        return found

    def clear(self) -> None:
        self._heap.clear()
        self._stop()

    def _set_timer(self) -> None:
        self._stop()
        if self._heap:
            now_ms = self._host.unix_ms
            at_ms = max(self._heap[0][0], self._rung_ms + self._tick_ms)
            self._timer = self._host.after(max(0, at_ms - now_ms), self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._rung_ms = self._host.unix_ms
        self._wake()
        self._set_timer()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
