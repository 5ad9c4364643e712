"""Processes of a pool that Ctrl-C does not reach, from before their first import: it is for whoever started them.

A terminal sends SIGINT to all of its processes. A pool's initializer is too late to ignore it: who is interrupted while
its imports go on prints a traceback.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess


class _Process(SpawnProcess):
    def start(self) -> None:
        with _held():
            super().start()


class Undisturbed(SpawnContext):
    """As the context `spawn`; its processes begin with SIGINT blocked. Who is to hear of it unblocks it."""

    Process = _Process


@contextmanager
def _held() -> Iterator[None]:
    """Blocked and not ignored: what arrives meanwhile is still ours afterwards. A new process inherits the mask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
