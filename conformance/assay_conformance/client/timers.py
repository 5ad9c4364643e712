"""Timers of a machine without a clock: its caller passes the time in, and gets the moment of the next call."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class Timer:
    """One action at one moment, unless cancelled before."""

    __slots__ = ("action", "due_ns", "live", "order")

    def __init__(self, due_ns: int, order: int, action: Callable[[], None]) -> None:
        self.due_ns = due_ns
        self.order = order
        self.action = action
        self.live = True

    def cancel(self) -> None:
        self.live = False

    def __lt__(self, other: Timer) -> bool:
        return (self.due_ns, self.order) < (other.due_ns, other.order)


class Timers:
    """Timers in order of time; those of one moment in the order they were set."""

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._set = 0

    def at(self, due_ns: int, action: Callable[[], None]) -> Timer:
        timer = Timer(due_ns, self._set, action)
        self._set += 1
        heapq.heappush(self._heap, timer)
        return timer

    def next_ns(self) -> int | None:
        """Return when the earliest live timer is due; None when there is none."""
        while self._heap and not self._heap[0].live:
            heapq.heappop(self._heap)
        return self._heap[0].due_ns if self._heap else None

    def fire(self, now_ns: int) -> None:
        """Run every timer due by `now_ns`, those included that the earlier ones set."""
        while (due_ns := self.next_ns()) is not None and due_ns <= now_ns:
            timer = heapq.heappop(self._heap)
            timer.live = False
            timer.action()
