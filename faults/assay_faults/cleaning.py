"""Removing what a run left: its own at its end, or that of runs that were killed.

Only what is noted in a journal and carries the mark of its entry (`cleanup_journal.py`) is touched. What cannot be
removed stays in the journal, and is reported with the reason. Cleaning twice, or in two processes at once, is safe.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import shutil
import signal
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from assay_conformance.model.errors import AssayError
from assay_faults.bounds import COMES_WITHIN_S, REMOVED_BY_TOOL_S, REMOVED_WITHIN_S
from assay_faults.cleanup_journal import MARKER, SUFFIX, CleanupJournal, Entry, Kind, mark_done, read
from assay_faults.kept import NOTES_SUFFIX, Notes, attributed, suspects
from assay_faults.processes.identity import Identity, marked, send_signal
from assay_faults.processes.running import run

LABEL: Final = "assay.ledger"
"""The label in which a container, and a network of containers, carries the id of its entry."""

_NAMESPACES: Final = Path("/run/netns")
_MNT_DETACH: Final = 2
_PAUSE_S: Final = 0.01
_ROUNDS: Final = 20
_DIRECTLY: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Not through the proxy that HTTP_PROXY names: its "there is no such thing" would be taken for the server's."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What became of one entry: what was removed, in words, or why it could not be removed.

    `suspected` is what may belong to this run and was left alone.
    """

    entry: Entry
    removed: str = ""
    trouble: str = ""
    suspected: str = ""


class _TroubleError(Exception):
    """What an entry names is still there; the message says why."""


Remover = Callable[[Entry], str]
"""Returns what it removed, empty when there was nothing of ours; raises OSError or AssayError when it could not."""
Removers = Mapping[Kind, Remover]

_NO_MORE: Final[Removers] = {}


def clean(folder: Path, more: Removers = _NO_MORE) -> list[Cleaned]:
    """Remove what dead runs noted in the ledgers of `folder`; empty when there was nothing. `more` are removers for
    what needs more than this machine's own means."""
    cleaned: list[Cleaned] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with _abandoned(path) as descriptor:
            if descriptor is not None:
                cleaned += _sweep(path, descriptor, more)
    return cleaned


def finish(ledger: CleanupJournal, more: Removers = _NO_MORE) -> list[Cleaned]:
    """Remove what this run itself still has open, and let go of its ledger."""
    cleaned = list(_removed(ledger.path.stem, ledger.left(), ledger.done, more))
    ledger.close()
    return cleaned


@contextlib.contextmanager
def _abandoned(path: Path) -> Iterator[int | None]:
    """Open the journal at `path` and lock it; yield its descriptor.

    Yield None when its owner is alive, or when another cleaner has locked or already removed it.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            yield None
            return
        owner, _ = read(_content(descriptor))
        # The lock alone would do, were there no file systems on which locks are only half kept.
        dead = owner is None or not owner.alive()
        # Of a dead run it is held for the moment that a child needs to become its program, or by another cleaner.
        locked = _locked(descriptor, patience_s=REMOVED_WITHIN_S if owner and dead else 0)
        yield descriptor if dead and locked and os.fstat(descriptor).st_nlink else None
    finally:
        os.close(descriptor)


def _content(descriptor: int) -> bytes:
    # By its descriptor: its name goes when another cleaner has done with it.
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _locked(descriptor: int, patience_s: float) -> bool:
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_PAUSE_S)
        else:
            return True


def _sweep(path: Path, descriptor: int, more: Removers) -> list[Cleaned]:
    owner, entries = read(_content(descriptor))
    notes = path.with_suffix(NOTES_SUFFIX)
    cleaned = list(_kept(path.stem, notes)) if owner and owner.of_this_boot() else []
    cleaned += _removed(path.stem, entries, partial(mark_done, descriptor), more)
    if not any(outcome.trouble for outcome in cleaned):
        notes.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
    return cleaned


def _kept(run: str, path: Path) -> Iterator[Cleaned]:
    """End what a keeper that was killed had started, and name what may be of it."""
    notes = Notes.read(path)
    if notes is None:
        return
    killed: dict[Identity, str] = {}
    for _ in range(_ROUNDS):
        found = attributed(run, notes)
        ended = {process: name for process, name in found.items() if _kill(process)}
        killed |= ended
        if not ended:
            break
    for process, name in killed.items():
        yield Cleaned(_entry(run, name), removed=f"process {name} ({process.pid})")
    for process, name in attributed(run, notes).items():
        trouble = f"process {name} ({process.pid}): cannot be killed; end it, and clean again"
        yield Cleaned(_entry(run, name), trouble=trouble)
    for process, name in suspects(notes).items():
        yield Cleaned(_entry(run, name), suspected=f"process {name} ({process.pid})")


def _entry(run: str, name: str) -> Entry:
    """Return an entry for a process that has no entry itself: one entry covers all processes below a keeper."""
    return Entry(f"{run}-0", Kind.PROCESS, name)


def _removed(run: str, entries: Sequence[Entry], done: Callable[[Entry], None], more: Removers) -> Iterator[Cleaned]:
    """Remove what the entries name; yield what was removed or could not be.

    Call `done` with each entry of which nothing is left.
    """
    killed = _kill_marked(run)
    # Of one kind the newest first, since it may lie inside an older one.
    for entry in (entry for kind in Kind for entry in reversed(entries) if entry.kind is kind):
        outcome = _remove(entry, killed.get(entry.id, ()), more)
        if not outcome.trouble:
            done(entry)
        if outcome.removed or outcome.trouble:
            yield outcome


def _remove(entry: Entry, killed: Sequence[int], more: Removers) -> Cleaned:
    try:
        if entry.kind is Kind.PROCESS:
            return Cleaned(entry, _process(entry, killed))
        return Cleaned(entry, {**_REMOVERS, **more}[entry.kind](entry))
    except _TroubleError as trouble:
        return Cleaned(entry, trouble=str(trouble))
    except AssayError as error:
        return Cleaned(entry, trouble=f"{entry.kind} {entry.name}: {error}")
    except OSError as error:
        return Cleaned(entry, trouble=f"{entry.kind} {entry.name}: {error.strerror or error}")


def _kill_marked(run: str) -> dict[str, list[int]]:
    """Kill whatever this run has started, until nothing is found twice in a row: what is killed may have been about to
    start another, and a program that is just beginning shows no environment for a moment. Which pids had which mark."""
    killed: dict[str, list[int]] = {}
    quiet = rounds = 0
    while quiet < 2 and rounds < _ROUNDS:
        found = marked(MARKER, f"{run}-")
        for process, mark in found.items():
            if _kill(process):
                killed.setdefault(mark, []).append(process.pid)
        quiet, rounds = 0 if found else quiet + 1, rounds + 1
    return killed


def _kill(process: Identity) -> bool:
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        with contextlib.suppress(PermissionError):  # said where it is looked for what is left
            if send_signal(process, signal.SIGKILL):
                waiting = select.poll()
                waiting.register(descriptor, select.POLLIN)
                return bool(waiting.poll(REMOVED_WITHIN_S * 1000))
        return False
    finally:
        os.close(descriptor)


def _process(entry: Entry, killed: Sequence[int]) -> str:
    left = [process.pid for process, mark in marked(MARKER, entry.id).items() if mark == entry.id]
    if left:
        raise _TroubleError(f"process {entry.name}: {left[0]} cannot be killed; end it, and clean again")
    return f"process {entry.name} ({', '.join(map(str, killed))})" if killed else ""


def _mount(entry: Entry) -> str:
    """Unmount a place as often as it was mounted.

    A lazy unmount is the last resort: processes that still use the place are not ours.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    times = 0
    while entry.id in Path(entry.name).name and entry.name in _mounts():
        place = os.fsencode(entry.name)
        if libc.umount2(place, 0) and libc.umount2(place, _MNT_DETACH):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        times += 1
    return f"mount {entry.name}" if times else ""


def _mounts() -> list[str]:
    """Return where file systems are mounted, from /proc/self/mountinfo (proc(5))."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        return [line.split()[4].encode().decode("unicode_escape") for line in lines]
    return []


def _namespace(entry: Entry) -> str:
    if not (_NAMESPACES / entry.name).exists():
        return ""
    _run("ip", "netns", "delete", entry.name)
    return f"namespace {entry.name}"


def _container(entry: Entry) -> str:
    """Remove the containers of an entry, then its networks, which cannot be removed while a container uses them.

    What is not there yet may still appear: an engine finishes a request even after its client has died.
    """
    removed = _of_engine(entry)
    if not removed:
        time.sleep(COMES_WITHIN_S)
        removed = _of_engine(entry)
    return ", ".join(removed)


def _of_engine(entry: Entry) -> list[str]:
    # The engine that the dead run used, which need not be this machine's usual one.
    host = entry.detail.get("host")
    engine = ("docker", "--host", host) if host else ("docker",)
    marked_so = ("--filter", f"label={LABEL}={entry.id}")
    removed = []
    for thing, listing, removing in (
        ("container", ("ps", "--all", "--quiet"), ("rm", "--force", "--volumes")),
        ("network", ("network", "ls", "--quiet"), ("network", "rm")),
    ):
        for found in _run(*engine, *listing, *marked_so).split():
            _run(*engine, *removing, found)
            removed.append(f"{thing} {found}")
    return removed


def _proxy(entry: Entry) -> str:
    """Remove a proxy from a server that is not ours, at `detail["url"]`; a server of ours is a process."""
    url = f"{entry.detail['url'].rstrip('/')}/proxies/{entry.name}"
    try:
        with _DIRECTLY.open(urllib.request.Request(url, method="DELETE"), timeout=REMOVED_WITHIN_S):
            return f"proxy {entry.name} at {entry.detail['url']}"
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return ""
        raise _TroubleError(f"proxy {entry.name}: {entry.detail['url']} answers {error.code}") from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionRefusedError):  # the server has ended, and its proxies with it
            return ""
        raise _TroubleError(f"proxy {entry.name}: {entry.detail['url']}: {error.reason}") from error


def _directory(entry: Entry) -> str:
    path = Path(entry.name)
    if entry.id not in path.name or not path.is_dir() or path.is_symlink():
        return ""
    held = [place for place in _mounts() if Path(place).is_relative_to(path)]
    if held:
        raise _TroubleError(f"directory {path}: {held[0]} is mounted in it; unmount it, and clean again")
    shutil.rmtree(path)
    return f"directory {path}"


def _tenant(entry: Entry) -> str:
    raise _TroubleError(f"tenant {entry.name}: only `assay tools clean` can ask its cluster")


def _run(*command: str) -> str:
    if shutil.which(command[0]) is None:
        raise _TroubleError(f"there is no program {command[0]} to remove it with: {' '.join(command)}")
    try:
        done = run(command, within_s=REMOVED_BY_TOOL_S)
    except (OSError, TimeoutError) as error:
        raise _TroubleError(f"{' '.join(command)}: {error}") from error
    if done.returncode:
        raise _TroubleError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


_REMOVERS: Final[Removers] = {
    Kind.MOUNT: _mount,
    Kind.NAMESPACE: _namespace,
    Kind.CONTAINER: _container,
    Kind.PROXY: _proxy,
    Kind.TENANT: _tenant,
    Kind.DIRECTORY: _directory,
}
"""Kind -> what removes it (processes come before, all of a run at once): says what it removed, nothing when there was
nothing of ours."""
