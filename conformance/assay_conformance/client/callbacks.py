"""Callbacks of sends: code of the application that runs in the client when a send has ended."""

from __future__ import annotations


class Callbacks:
    """Those that have begun and not returned. Each has a thread to itself: nothing waits for one."""

    def __init__(self) -> None:
        self._running: set[int] = set()

    @property
    def is_busy(self) -> bool:
        """Whether a callback runs."""
        return bool(self._running)

    def began(self, op: int) -> None:
        self._running.add(op)

    def returned(self, op: int) -> None:
        self._running.discard(op)
