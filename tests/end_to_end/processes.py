"""What a process has going: the processes under it and the ports it listens on, as the kernel says. Linux only."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from pathlib import Path

_LISTEN = "0A"
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def descendants(pid: int) -> set[int]:
    """Processes that `pid` started, and those they started, sessions of their own included."""
    children: dict[int, list[int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # The name in parentheses may hold anything; state and parent follow the last one.
            state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(process.name))
    found: set[int] = set()
    unseen = [pid]
    while unseen:
        new = children.get(unseen.pop(), [])
        found.update(new)
        unseen.extend(new)
    return found


def born(pid: int) -> str:
    """When the process began, by the machine's clock: tells it from a later one of its number. Empty: it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def command_of(pid: int) -> str:
    """What the process was started as; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def listening() -> set[str]:
    """Inodes of every listening TCP socket of this machine."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[9] for row in rows if row[3] == _LISTEN}


def listening_of(pid: int) -> set[str]:
    """Those `pid` holds. An inode outlives its process only if the socket does, and is nobody else's."""
    held: set[str] = set()
    for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            if match := _SOCKET.fullmatch(str(descriptor.readlink())):
                held.add(match[1])
    return held & listening()


def peak_kib(name: str = "VmHWM") -> int:
    """This process's peak of resident memory since `forget_peak`; `VmRSS` is what it has now."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def eventually(met: Callable[[], bool], what: str, deadline_s: float) -> None:
    """Look until the condition is met; AssertionError at the deadline."""
    end_s = time.monotonic() + deadline_s
    while not met():
        assert time.monotonic() < end_s, f"{what}: not within {deadline_s:g} s"
        time.sleep(0.005)


def is_in(folder: Path, name: str) -> bool:
    """Whether something of this name lies anywhere in a folder that others write in: what `rglob` was about to look
    into may be gone by then, and it ends with an error."""
    try:
        return any(folder.rglob(name))
    except FileNotFoundError:
        return False
