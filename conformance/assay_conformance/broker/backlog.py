"""What a subscription may read now: its cursor over the topic's entries, under the dispatch rates that hold for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from assay_conformance.broker.compaction import Compaction
from assay_conformance.broker.cursor import Cursor
from assay_conformance.broker.host import Host
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
        self.wake: Callable[[], None] = _no_operation
        self._retry: Timer | None = None
        self._members = 0.0
        self._furthest = -1
        self._granted = 0
        self._is_precise = host.settings.precise_flow_control

    def quota(self, permits: int, *, again: bool = False) -> int:
        """Return how many entries one read may take; 0, with a `wake` later, when a rate is used up.

        `again`: it is a read of what was dispatched before.
        """
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
        return self._of_levels([limiter.entries(wanted, size) for limiter in self._limiters_for(again=again)])

    def _of_levels(self, allowed: Sequence[int]) -> int:
        return min(allowed)

    def _limiters_for(self, *, again: bool) -> Sequence[DispatchLimiter]:
        """Return the limiters of a read. Entries that are dispatched `again` have those of new ones."""
        del again
        return self.limiters

    def _is_throttled(self, *, again: bool) -> bool:
        del again
        if self._host.settings.throttles_caught_up:
            return True
        return len(self.store.entries) - self.cursor.next > BACKLOGGED_ENTRIES

    def spend(self, entry: Entry, messages: int) -> None:
        """Charge a dispatched entry: after the dispatch, so that the balance may become negative."""
        if self._is_precise:
            self._members = 0.9 * self._members + 0.1 * messages if self._members else messages
        again, self._furthest = entry.index <= self._furthest, max(entry.index, self._furthest)
        if self.limiters:
            self._charge(self._counted(messages), len(entry.payload.block), again=again)

    def _counted(self, messages: int) -> int:
        """Return what an entry of so many messages counts against a rate in messages."""
        return 1 if self._host.settings.rate_counts_entries else messages

    def _charge(self, messages: int, size: int, *, again: bool) -> None:
        for limiter in self._limiters_for(again=again):
            limiter.consume(messages, size)

    def read(self, count: int, *, compacted: bool = False) -> list[Entry]:
        """Return the next entries, or what a compaction has left of them. If there are none, the read waits."""
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


def _no_operation() -> None:
    """Do nothing: this backlog has no reader yet."""
