"""How long to wait before trying again: doubling from 100 ms to 60 s, up to a tenth of it taken off at random."""

from __future__ import annotations

from collections.abc import Callable

FIRST_MS = 100
LONGEST_MS = 60_000
_JITTER = 0.1


class Backoff:
    """`jitter` gives numbers from 0 to below 1; they spread clients that lost the same broker."""

    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self._next_ms = FIRST_MS

    def next_ns(self) -> int:
        delay_ms = self._next_ms
        self._next_ms = min(2 * delay_ms, LONGEST_MS)
        return int(delay_ms * (1 - _JITTER * self._jitter()) * 1_000_000)

    def reset(self) -> None:
        self._next_ms = FIRST_MS
