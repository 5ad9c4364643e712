"""Deadlines of a machine that has no clock: the earliest one is reported, and a caller that has a clock wakes the
machine."""

from __future__ import annotations

import heapq
from collections.abc import Callable

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000


class Timer:
    """One deadline. Cancelled ones stay in the heap until their time, and do nothing then."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self.action = None


class Timers:
    """Actions by time; those of one instant run in the order they were set."""

    __slots__ = ("_count", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._count = 0

    def at(self, at_ns: int, action: Callable[[], None]) -> Timer:
        timer = Timer(action)
        self._count += 1
        heapq.heappush(self._heap, (at_ns, self._count, timer))
        return timer

    def next_ns(self) -> int | None:
        """Return the earliest deadline still wanted, None when there is none."""
        heap = self._heap
        while heap and heap[0][2].action is None:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def run(self, now_ns: int) -> None:
        """Run what is due, including what the actions themselves set for now."""
        heap = self._heap
        while heap and heap[0][0] <= now_ns:
            action = heapq.heappop(heap)[2].action
            if action is not None:
                action()
