"""The cleanup journal: what a run makes outside of itself, written down before it is made.

A run that is killed leaves processes, mounts, namespaces, containers, proxies and directories behind. What it had
noted is removed by `cleaning.clean`, which the next run calls, and `assay tools clean`. One file a run, JSON lines,
each on the disk before the call that writes it returns:

    {"owner": {...}}                                   whose run it is
    {"id": "assay-3f9c01ab-7", "kind": "mount", ...}   about to be made
    {"done": "assay-3f9c01ab-7"}                       removed again, or never made

**The mark.** Whatever is made carries the id of its entry: a process and its children in their environment
(`environment_of`), a directory, a namespace, a proxy and what is made in a cluster in their name, a mount in the name
of the directory it is on, a container as its label. What does not carry the mark is never touched: neither a pid given
to another process, nor a directory that was put where ours was. A program that makes the thing (`mount`, `ip`) carries
it as well: it may outlive the run, and would make the thing after it was cleaned.

**The owner** holds a lock on the file as long as it lives, and so do its keeper, which ends the owner's processes when
the owner is killed, and a child that has not become its program yet. Only the process that gets the lock may clean.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import shutil
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

import msgspec

from assay_faults.processes.identity import Identity, ProcessState, identify, state

MARKER: Final = "ASSAY_LEDGER"
"""The environment variable in which a process carries the id of its entry: the journal's name, a dash, a number."""

SUFFIX: Final = ".jsonl"
_PREFIX: Final = "assay-"


class Kind(StrEnum):
    """What was made, in the order in which it is removed: each may be held by those before it."""

    PROCESS = "process"
    MOUNT = "mount"
    NAMESPACE = "namespace"
    CONTAINER = "container"
    PROXY = "proxy"
    TENANT = "tenant"
    DIRECTORY = "directory"


_NAMED: Final = frozenset({Kind.MOUNT, Kind.NAMESPACE, Kind.PROXY, Kind.TENANT, Kind.DIRECTORY})


class Owner(msgspec.Struct, frozen=True):
    """The process of the run. `boot` is the kernel's id of the machine's uptime, in which pid and start are unique."""

    pid: int
    start_ticks: int
    boot: str

    def of_this_boot(self) -> bool:
        """Return whether the owner wrote down pids and start times in this boot, so that they are valid."""
        return self.boot == _boot()

    def alive(self) -> bool:
        # A process without a wait() keeps its pid: for ever, in a container whose first process waits for none.
        ended = state(Identity(self.pid, self.start_ticks)) in (ProcessState.GONE, ProcessState.ZOMBIE)
        return self.of_this_boot() and not ended


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something about to be made. `name` is its place or its name; `detail` depends on the kind."""

    id: str
    kind: Kind
    name: str
    detail: dict[str, str] = {}


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line: exactly one of these, or an `Entry`."""

    owner: Owner | None = None
    done: str | None = None


class CleanupJournal:
    """The journal of one run: `with CleanupJournal.begin(folder) as ledger`.

    Safe to use from several threads. Leaving the block does not remove what is still open: its owner does, with
    `cleaning.finish`, or the next run.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._numbers = itertools.count()
        self._open: dict[str, Entry] = {}

    @classmethod
    def begin(cls, folder: Path) -> Self:
        """Create and lock a journal of this process in `folder`, which is made if need be.

        Raise OSError when the journal cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            path = folder / f"{_PREFIX}{os.urandom(4).hex()}{SUFFIX}"
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                # A cleaner may have come between the two lines, and taken the empty file for litter.
                if os.fstat(descriptor).st_nlink:
                    break
                os.close(descriptor)
        ledger = cls(path, descriptor)
        ledger._write(_Line(owner=_ourselves()))
        _sync(folder)
        return ledger

    @property
    def lock(self) -> int:
        """The descriptor that holds the lock: a process that inherits it keeps cleaners away after this one has
        ended."""
        return self._descriptor

    def creating(self, kind: Kind, name: str = "", **detail: str) -> Entry:
        """Note that something is about to be made. `{id}` in `name` stands for the entry's; no name is the id alone."""
        mark = f"{self.path.stem}-{next(self._numbers)}"
        entry = Entry(mark, kind, name.replace("{id}", mark) or mark, detail)
        if kind in _NAMED and mark not in entry.name:
            raise ValueError(f"{kind} {name!r}: expected {{id}} in its name, the only mark it can carry")
        self._open[mark] = entry
        self._write(entry)
        return entry

    def done(self, entry: Entry) -> None:
        """Record that it was removed, or could not be made."""
        if self._open.pop(entry.id, None) is not None:
            self._write(_Line(done=entry.id))

    def left(self) -> tuple[Entry, ...]:
        """Return the entries that have been noted and are not done."""
        return tuple(self._open.values())

    @contextlib.contextmanager
    def directory(self, parent: Path) -> Iterator[Path]:
        """Provide a directory of our own below `parent` for as long as the block lasts."""
        entry = self.creating(Kind.DIRECTORY, str(parent.absolute() / "{id}"))
        path = Path(entry.name)
        path.mkdir(parents=True)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
            if not path.exists():
                self.done(entry)

    def close(self) -> None:
        """Let go of the journal; its file stays only if something is left."""
        if self._descriptor < 0:
            return
        if not self._open:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, line: Entry | _Line) -> None:
        _write_line(self._descriptor, line)


def environment_of(entry: Entry) -> Mapping[str, str]:
    """Return what a process of this entry is started with in addition to its other environment variables."""
    return {MARKER: entry.id}


def read(content: bytes) -> tuple[Owner | None, list[Entry]]:
    """Return the journal's owner, and the entries that are not done.

    A line that cannot be read was being written when its owner died, so that nothing had been made of it yet.
    """
    owner: Owner | None = None
    entries: dict[str, Entry] = {}
    for text in content.split(b"\n"):
        line = _decoded(text)
        if isinstance(line, Entry):
            entries[line.id] = line
        elif line is not None:
            owner = line.owner or owner
            entries.pop(line.done or "", None)
    return owner, list(entries.values())


def _decoded(text: bytes) -> Entry | _Line | None:
    with contextlib.suppress(msgspec.DecodeError):
        return msgspec.json.decode(text, type=Entry)
    with contextlib.suppress(msgspec.DecodeError):
        return msgspec.json.decode(text, type=_Line)
    return None


def mark_done(descriptor: int, entry: Entry) -> None:
    """Mark an entry as done, on behalf of a cleaner that holds the lock.

    This begins a new line, since the last one may be torn.
    """
    os.write(descriptor, b"\n")
    _write_line(descriptor, _Line(done=entry.id))


def _write_line(descriptor: int, line: Entry | _Line) -> None:
    # One write, so that threads do not mix their lines.
    os.write(descriptor, msgspec.json.encode(line) + b"\n")
    os.fsync(descriptor)


def _ourselves() -> Owner:
    ourselves = identify(os.getpid())
    return Owner(os.getpid(), ourselves.start_ticks if ourselves else 0, _boot())


def _boot() -> str:
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def _sync(folder: Path) -> None:
    """Write the folder to disk, so that a crash of the machine does not lose the file itself."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
