"""Refused messages, to be asked for again after their delay.

One timer stands at the earliest due time, so neither a later nor a steady stream of additions postpones an earlier one;
everything due then leaves together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from assay_conformance.client.settings import ConsumerSettings
from assay_conformance.client.shared import Shared
from assay_conformance.client.timers import Timer


class Refused(Protocol):
    """What is kept for an entry until its time has come."""

    @property
    def redelivery_count(self) -> int: ...


T = TypeVar("T", bound=Refused)

MIN_DELAY_MS = 100
_MANY = 64
"""Redeliveries after which no backoff grows any more; keeps powers small."""


def nack_delay_ms(settings: ConsumerSettings, redelivery_count: int) -> float:
    """Return how long a refusal waits: the fixed delay, or min * multiplier ** count up to the maximum (PIP-106)."""
    if not settings.nack_backoff_max_ms:
        return settings.nack_delay_ms
    grown = settings.nack_backoff_min_ms * settings.nack_backoff_multiplier ** min(redelivery_count, _MANY)
    return min(grown, settings.nack_backoff_max_ms)


Key = tuple[int, ...]
"""What is asked for as one: the position of an entry."""


class DueTracker(Generic[T]):
    """Entries by key, each with what is kept for it; `due` gets those whose time has come, and forgets them."""

    def __init__(self, shared: Shared, due: Callable[[list[T]], None]) -> None:
        self._shared = shared
        self._due = due
        self._held: dict[Key, tuple[int, T]] = {}
        self._timer: Timer | None = None

    def add(self, key: Key, due_ns: int, kept: T) -> None:
        """Hold an entry until `due_ns`.

        An entry that is already held keeps its earlier time; of its copies, the one with the highest redelivery count
        is kept.
        """
        if key not in self._held:
            self._held[key] = (due_ns, kept)
            self._arm(due_ns)
            return
        earlier_ns, other = self._held[key]
        if kept.redelivery_count > other.redelivery_count:
            self._held[key] = (earlier_ns, kept)

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
        keys = [key for key, (due_ns, _) in self._held.items() if due_ns <= now_ns]
        ripe = [self._held.pop(key)[1] for key in keys]
        if self._held:
            self._arm(min(due_ns for due_ns, _ in self._held.values()))
        if ripe:
            self._due(ripe)
