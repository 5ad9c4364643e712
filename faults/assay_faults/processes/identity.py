"""Which process a pid belongs to, known by its start time, as the kernel reports both. Linux only.

A pid is given to another process as soon as its own has been waited for; a pid with its start time is never given
again. Code that is about to send a signal asks here first.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
# Places in /proc/PID/stat behind the program's name, which may hold blanks and brackets itself: proc(5), fields 3, 4
# and 22.
_STATE, _PARENT, _START = 0, 1, 19


class ProcessState(StrEnum):
    """What /proc says of a process, in the letters it uses; the many ways to be alive are one."""

    ALIVE = "alive"
    STOPPED = "T"
    ZOMBIE = "Z"
    GONE = "gone"


_STATES: Final = {"T": ProcessState.STOPPED, "Z": ProcessState.ZOMBIE, "X": ProcessState.GONE}


@dataclass(frozen=True, slots=True)
class Identity:
    """One process, never another: `start_ticks` since the machine came up."""

    pid: int
    start_ticks: int


def identify(pid: int) -> Identity | None:
    """Return the identity of the process with this pid now, or None when there is none."""
    fields = _stat(pid)
    return Identity(pid, int(fields[_START])) if fields else None


def parent_of(pid: int) -> int | None:
    """Return the parent's pid, or None when no process has this pid.

    A process that has ended has a parent until the parent has waited for it.
    """
    fields = _stat(pid)
    return int(fields[_PARENT]) if fields else None


def family() -> dict[Identity, int]:
    """Return every visible process with the pid of its parent."""
    found = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            found[Identity(int(entry.name), int(fields[_START]))] = int(fields[_PARENT])
    return found


def name_of(process: Identity) -> str:
    """Return the name of its program, as the kernel keeps it; empty when it has ended."""
    try:
        return (_PROC / str(process.pid) / "comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def state(process: Identity) -> ProcessState:
    """Return a process's state: GONE also when its pid belongs to another process by now."""
    fields = _stat(process.pid)
    if not fields or int(fields[_START]) != process.start_ticks:
        return ProcessState.GONE
    return _STATES.get(fields[_STATE], ProcessState.ALIVE)


def send_signal(process: Identity, number: signal.Signals) -> bool:
    """Signal this very process; return False when it has ended.

    Raise PermissionError when it is another user's. The descriptor is opened before its identity is read, so that it
    cannot come to refer to another process.
    """
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        if identify(process.pid) != process:
            return False
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True


def marked(variable: str, prefix: str) -> dict[Identity, str]:
    """Return the processes in whose environment the value of `variable` begins with `prefix`, with that value.

    Processes whose environment we may not read are left out.
    """
    wanted = f"{variable}={prefix}".encode()
    found = {}
    for entry in _PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        # Before the environment: if the pid changes hands in between, the identity matches no process.
        process = identify(int(entry.name))
        value = next((word for word in _environment(entry) if word.startswith(wanted)), None)
        if process is not None and value is not None:
            found[process] = value.decode("utf-8", "replace").partition("=")[2]
    return found


def _environment(entry: Path) -> list[bytes]:
    try:
        return (entry / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or is another user's, and then none that we started
        return []


def _stat(pid: int) -> list[str]:
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
