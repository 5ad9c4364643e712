"""Processes that go on after their keeper was killed, found by its notes and by parentage.

A keeper (`processes/_keeper.py`) ends all descendants of its programs. When it is killed together with its runner, they
go on. Those that carry its mark are known by that. Of the others it had noted pid and start, which together are never
given again: they are its own, as is what is below them. What began after its last look, carries no mark and has lost
its parent cannot be attributed: it may not be ours, and is named only.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from assay_faults.bounds import MOST_NOTES_BYTES, UNNOTED_S
from assay_faults.cleanup_journal import MARKER
from assay_faults.processes.identity import Identity, ProcessState, family, marked, name_of, state

NOTES_SUFFIX: Final = ".notes"
"""Of the file beside a ledger."""

_GOES_ON: Final = frozenset({ProcessState.ALIVE, ProcessState.STOPPED})


@dataclass(frozen=True, slots=True)
class Notes:
    """What a keeper noted. `looked_ticks` is when it looked last, `above` the processes one of which gets its
    orphans."""

    looked_ticks: int
    above: frozenset[int]
    noted: frozenset[Identity]

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return the notes in this file, or None where none were written or the file is not ours."""
        with contextlib.suppress(OSError, ValueError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "rb") as file:
                if stat.S_ISREG(os.fstat(descriptor).st_mode):
                    looked, *lines = file.read(MOST_NOTES_BYTES).splitlines()
                    ticks, *above = map(int, looked.split())
                    return cls(ticks, frozenset(above), frozenset(filter(None, map(_noted, lines))))
        return None


def _noted(line: bytes) -> Identity | None:
    """Return the process noted in a line, or None for a line that was cut off."""
    try:
        pid, start_ticks, *_ = line.split()
        return Identity(int(pid), int(start_ticks))
    except ValueError:
        return None


def attributed(run: str, notes: Notes) -> dict[Identity, str]:
    """Return the running processes of this run, with their names.

    These are the processes with the run's mark, those that were noted, and all of their descendants.
    """
    alive = family()
    roots = set(marked(MARKER, f"{run}-")) | notes.noted
    return {process: name_of(process) for process in _with_those_below(roots & set(alive), alive) if _goes_on(process)}


def suspects(notes: Notes) -> dict[Identity, str]:
    """Return the processes, with their names, that may belong to this run, judged by start time and present parent."""
    second = os.sysconf("SC_CLK_TCK")
    until_ticks = notes.looked_ticks + UNNOTED_S * second
    ours = _above(os.getpid(), alive := family())
    with_a_mark = marked(MARKER, "")
    return {
        process: name_of(process)
        for process, parent in alive.items()
        if notes.looked_ticks <= process.start_ticks <= until_ticks
        and parent in notes.above
        and process.pid not in ours
        and process not in with_a_mark
        and _is_of_this_user(process)
        and _goes_on(process)
    }


def _with_those_below(roots: Collection[Identity], alive: Mapping[Identity, int]) -> set[Identity]:
    """Return these processes and their descendants, without this process and hence without its other children."""
    found = {process for process in roots if process.pid != os.getpid()}
    while True:
        pids = {process.pid for process in found}
        new = {one for one, parent in alive.items() if parent in pids and one.pid != os.getpid()} - found
        if not new:
            return found
        found |= new


def _above(pid: int, alive: Mapping[Identity, int]) -> set[int]:
    """Return the pids of a process, its parent, and so on."""
    parents = {process.pid: parent for process, parent in alive.items()}
    found = {pid}
    while (pid := parents.get(pid, 0)) and pid not in found:
        found.add(pid)
    return found


def _goes_on(process: Identity) -> bool:
    return state(process) in _GOES_ON


def _is_of_this_user(process: Identity) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process.pid}").stat().st_uid == os.getuid()
    return False
