"""Messages the application holds without settling them: after a time-out they are asked for again.

Time is counted in ticks, as in the Java and C++ clients: an entry enters the last of a row of buckets, each tick takes
the first one away, and there are so many that this happens between the time-out and one tick more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from assay_conformance.client.entries import Position
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer

T = TypeVar("T")


class TickWheel(Generic[T]):
    """Entries by position, each with what is kept for it; `due` gets those whose time is over, and they are forgotten.

    It ticks while there is something to count.
    """

    def __init__(self, shared: Shared, timeout_ms: int, tick_ms: int, due: Callable[[list[T]], None]) -> None:
        self._shared = shared
        self._due = due
        self._tick_ns = max(1, self._tick_ms(timeout_ms, tick_ms)) * MS
        self._buckets: deque[dict[Position, T]] = deque({} for _ in range(self._ticks(timeout_ms * MS) + 1))
        self._timer: Timer | None = None

    def add(self, position: Position, kept: T) -> None:
        """Hold an entry; one that is already held keeps its earlier time."""
        if any(position in bucket for bucket in self._buckets):
            return
        self._buckets[-1][position] = kept
        if self._timer is None:
            self._timer = self._shared.after(self._tick_ns, self._tick)

    def remove(self, position: Position) -> None:
        for bucket in self._buckets:
            bucket.pop(position, None)

    def remove_before(self, position: Position) -> None:
        """Forget every earlier entry."""
        for bucket in self._buckets:
            for held in [held for held in bucket if held < position]:
                del bucket[held]

    def clear(self) -> None:
        for bucket in self._buckets:
            bucket.clear()

    def _tick_ms(self, timeout_ms: int, tick_ms: int) -> int:
        """Return the length of a tick, which is never longer than the time-out counted in it."""
        return min(tick_ms, timeout_ms)

    def _ticks(self, timeout_ns: int) -> int:
        """Return how many ticks make up the time-out, rounded up."""
        return -(-timeout_ns // self._tick_ns)

    def _tick(self) -> None:
        ripe = list(self._buckets.popleft().values())
        self._buckets.append({})
        left = any(self._buckets)
        self._timer = self._shared.after(self._tick_ns, self._tick) if left else None
        if ripe:
            self._due(ripe)
