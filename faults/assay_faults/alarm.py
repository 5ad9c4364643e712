"""One timer of the event loop, set to whatever is due next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Alarm:
    """Calls `ring` at the time it is set to. `now_ns` is the clock of that time."""

    def __init__(self, now_ns: Callable[[], int], ring: Callable[[], None]) -> None:
        self._now_ns = now_ns
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._due_ns: int | None = None
        self._closed = False

    def set(self, due_ns: int | None) -> None:
        """Ring at `due_ns`, or not at all when it is None; an earlier setting no longer counts."""
        if due_ns == self._due_ns or self._closed:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._due_ns = due_ns
        if due_ns is not None:
            delay_s = max(0, due_ns - self._now_ns()) / 1e9
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._rings)

    def close(self) -> None:
        """Stop for good: a later `set` has no effect."""
        self.set(None)
        self._closed = True

    def _rings(self) -> None:
        self._timer = self._due_ns = None
        self._ring()
