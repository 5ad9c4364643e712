"""Processes of a pool: Ctrl-C does not reach them, from before their first import, and they end with their parent.

A terminal sends SIGINT to all of its processes. A pool's initializer is too late to ignore it: who is interrupted while
its imports go on prints a traceback. And a process that works at something hears of its parent's end when it is done
with that, if it ever is: the kernel kills it instead.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess

_PR_SET_PDEATHSIG = 1


class _Process(SpawnProcess):
    def start(self) -> None:
        with _held():
            super().start()

    def run(self) -> None:
        _end_with_parent()
        super().run()


class Undisturbed(SpawnContext):
    """As the context `spawn`; its processes begin with SIGINT blocked. Who is to hear of it unblocks it. The thread
    that starts them, which is the one that submits to a pool, has to live as long as they: on Linux they die with it.
    """

    Process = _Process


@contextmanager
def _held() -> Iterator[None]:
    """Blocked and not ignored: what arrives meanwhile is still ours afterwards. A new process inherits the mask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    parent = multiprocessing.parent_process()
    if parent is not None and os.getppid() != parent.pid:  # it died before the kernel knew of us
        os._exit(1)
