"""What a subscription may read now: its cursor over the topic's entries, under the dispatch rates that hold for it."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from assay_conformance.broker.compaction import Compaction
from assay_conformance.broker.cursor import Cursor
from assay_conformance.broker.host import Host
from assay_conformance.broker.mutations import BrokerMutation
from assay_conformance.broker.rules import BACKLOGGED_ENTRIES, RATE_RETRY_MS, READ_BATCH_ENTRIES
from assay_conformance.broker.store import Entry, Store
from assay_conformance.broker.throttle import DispatchLimiter
from assay_conformance.broker.timers import Timer
from assay_conformance.model.policy import Policies


class Backlog:
    """`limiters` are those of all levels; the tightest counts. `wake` is called when tokens may be there again.

    A read that finds nothing waits at the end of the topic with what it was allowed: whatever a redelivery has used up
    meanwhile, it is served when something comes, and later periods repay it (asyncReadEntriesOrWait)."""

    __slots__ = (
        "_furthest",
        "_granted",
        "_host",
        "_is_precise",
        "_members",
        "_retry",
        "compaction",
        "cursor",
        "limiters",
        "policies",
        "store",
        "wake",
    )

    def __init__(self, host: Host, store: Store, cursor: Cursor) -> None:
        self._host = host
        self.store = store
        self.cursor = cursor
        self.compaction: Compaction | None = None
        self.policies = Policies()
        self.limiters: tuple[DispatchLimiter, ...] = ()
        self.wake: Callable[[], None] = _nobody
        self._retry: Timer | None = None
        self._members = 0.0
        self._furthest = -1
        self._granted = 0
        coarse = host.breaks(BrokerMutation.FLOW_CONTROL_IS_COARSE)
        self._is_precise = host.settings.precise_flow_control and not coarse

    def quota(self, permits: int, *, again: bool = False) -> int:
        """How many entries one read may take; 0 with a later `wake` when a rate is used up. `again`: it is a read of
        what was dispatched before."""
        members = max(1, round(self._members)) if self._is_precise else 1
        wanted = min(ceil(permits / members), READ_BATCH_ENTRIES)
        if not self.limiters or not self._is_throttled(again=again):
            return wanted
        if self._granted and not again:
            return min(wanted, self._granted)
        wanted = self._allowed(wanted, again=again)
        if not wanted and self._retry is None:
            self._retry = self._host.after(RATE_RETRY_MS, self._again)
        return wanted

    def _allowed(self, wanted: int, *, again: bool) -> int:
        size = self.store.average_bytes
        levels = [limiter.of_read(again=again).entries(wanted, size) for limiter in self.limiters]
        if self._host.breaks(BrokerMutation.DISPATCH_LEVELS_ARE_ALTERNATIVES):
            return max(levels)
        return min(levels)

    def _is_throttled(self, *, again: bool) -> bool:
        if self._host.breaks(BrokerMutation.DISPATCH_IGNORES_RATE):
            return False
        if again and self._host.breaks(BrokerMutation.REDELIVERY_IS_FREE):
            return False
        if self._host.settings.throttles_caught_up or self._host.breaks(BrokerMutation.THROTTLES_CAUGHT_UP):
            return True
        return len(self.store.entries) - self.cursor.next > BACKLOGGED_ENTRIES

    def spend(self, entry: Entry, messages: int) -> None:
        """Charge a dispatched entry: after the dispatch, so that the balance may become negative."""
        if self._is_precise:
            self._members = 0.9 * self._members + 0.1 * messages if self._members else messages
        again, self._furthest = entry.index <= self._furthest, max(entry.index, self._furthest)
        if not self.limiters or (again and self._host.breaks(BrokerMutation.REDELIVERY_IS_FREE)):
            return
        by_entries = self._host.settings.rate_counts_entries
        charged = 1 if by_entries and not self._host.breaks(BrokerMutation.RATE_COUNTS_MEMBERS) else messages
        for limiter in self.limiters:
            limiter.of_read(again=again).consume(charged, len(entry.payload.block))

    def read(self, count: int, *, compacted: bool = False) -> list[Entry]:
        """The next entries, or what a compaction has left of them; none: the read waits for some."""
        found = self._read(count, compacted=compacted)
        self._granted = 0 if found else count
        return found

    def rewind(self) -> None:
        """Read again from the first entry not acknowledged; a read that waits is over."""
        self._granted = 0
        self.cursor.rewind()

    def _read(self, count: int, *, compacted: bool) -> list[Entry]:
        if not compacted or self.compaction is None:
            return self.cursor.read(self.store.entries, count)
        while entries := self.cursor.read(self.store.entries, count):
            if left := self.compaction.left(entries):
                return left
        return []

    def close(self) -> None:
        self._granted = 0
        if self._retry is not None:
            self._retry.cancel()

    def _again(self) -> None:
        self._retry = None
        self.wake()


def _nobody() -> None:
    """Nothing reads this backlog yet."""
