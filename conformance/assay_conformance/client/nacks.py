"""Messages to ask for again: negatively acknowledged ones after their delay, unacknowledged ones after a time-out.

One timer stands at the earliest due time, so neither a later nor a steady stream of additions postpones an earlier one;
everything due then leaves together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from assay_conformance.client.entries import Position
from assay_conformance.client.shared import Shared
from assay_conformance.client.timers import Timer

T = TypeVar("T")


class DueTracker(Generic[T]):
    """Entries by position, each with what is kept for it; `due` gets those whose time has come, and forgets them."""

    def __init__(self, shared: Shared, due: Callable[[list[T]], None]) -> None:
        self._shared = shared
        self._due = due
        self._held: dict[Position, tuple[int, T]] = {}
        self._timer: Timer | None = None

    def add(self, position: Position, due_ns: int, kept: T) -> None:
        """An entry already held keeps its earlier time."""
        if position not in self._held:
            self._held[position] = (due_ns, kept)
            self._arm(due_ns)

    def remove(self, position: Position) -> None:
        self._held.pop(position, None)

    def remove_to(self, position: Position) -> None:
        """Forget everything up to and with this entry."""
        for held in [held for held in self._held if held <= position]:
            del self._held[held]

    def clear(self) -> None:
        self._held.clear()

    def _arm(self, due_ns: int) -> None:
        if self._timer is not None and self._timer.live:
            if self._timer.due_ns <= due_ns:
                return
            self._timer.cancel()
        self._timer = self._shared.timers.at(due_ns, self._fire)

    def _fire(self) -> None:
        now_ns = self._shared.now_ns
        positions = [position for position, (due_ns, _) in self._held.items() if due_ns <= now_ns]
        ripe = [self._held.pop(position)[1] for position in positions]
        if self._held:
            self._arm(min(due_ns for due_ns, _ in self._held.values()))
        if ripe:
            self._due(ripe)
