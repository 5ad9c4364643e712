"""What may be done to a process. A call returns when the kernel reports the effect, not when a signal was sent.

The process is known by pid and start time, so that no call reaches another process with the same pid. Each raises
HarnessError, with the process's name, when the process has ended or the effect does not come in time.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Final

from assay_conformance.model.errors import HarnessError
from assay_faults.awake import Awake, timeout_awake
from assay_faults.bounds import GRACE_S, SIGNALLED_WITHIN_S
from assay_faults.processes.identity import Identity, ProcessState, identify, send_signal, state

_LOOK_AGAIN_S: Final = 0.001


def known(name: str, pid: int | None) -> Identity:
    """Return the identity that the calls below need. Raise HarnessError when the process is down."""
    process = identify(pid) if pid is not None else None
    if process is None:
        raise HarnessError(f"{name} is down: expected a process to harm")
    return process


async def kill(name: str, process: Identity) -> None:
    """Send SIGKILL, which also ends a stopped process, and wait for the end."""
    await _end(name, process, signal.SIGKILL, SIGNALLED_WITHIN_S)


async def stop(name: str, process: Identity, grace_s: float = GRACE_S) -> None:
    """Send SIGTERM and wait for the end. A paused process is resumed first, since it could not react."""
    _send(name, process, signal.SIGCONT)
    await _end(name, process, signal.SIGTERM, grace_s)


async def pause(name: str, process: Identity) -> None:
    """Send SIGSTOP: the process keeps its connections and sends nothing."""
    _send(name, process, signal.SIGSTOP)
    await _until(name, process, ProcessState.STOPPED)


async def resume(name: str, process: Identity) -> None:
    """Send SIGCONT to a paused process and wait until it runs."""
    _send(name, process, signal.SIGCONT)
    await _until(name, process, ProcessState.ALIVE)


def _send(name: str, process: Identity, number: signal.Signals) -> None:
    if not send_signal(process, number):
        raise _gone(name, process, number)


def _gone(name: str, process: Identity, number: signal.Signals) -> HarnessError:
    return HarnessError(f"{name} (pid {process.pid}) has ended by itself: expected it up for {number.name}")


async def _end(name: str, process: Identity, number: signal.Signals, within_s: float) -> None:
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        raise _gone(name, process, number) from None
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(descriptor, ended.set)
    try:
        _send(name, process, number)
        async with timeout_awake(within_s):
            await ended.wait()
    except TimeoutError:
        raise HarnessError(f"{name} (pid {process.pid}) outlived {number.name} by {within_s:g} s") from None
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def _until(name: str, process: Identity, wanted: ProcessState) -> None:
    # The kernel notifies only the parent that a process stops or goes on: one has to poll.
    awake = Awake(asyncio.get_running_loop().time)
    while (seen := state(process)) is not wanted:
        if seen in (ProcessState.ZOMBIE, ProcessState.GONE):
            raise HarnessError(f"{name} (pid {process.pid}) has ended by itself: expected it {wanted.name.lower()}")
        if awake.look() > SIGNALLED_WITHIN_S:
            raise HarnessError(
                f"{name} (pid {process.pid}) is not {wanted.name.lower()} after {SIGNALLED_WITHIN_S:g} s"
            )
        await asyncio.sleep(_LOOK_AGAIN_S)
