"""A disk of its own for a process's data: an ext4 in a file where there is a loop device, else a tmpfs.

Ext4 is preferred because it can be made read-only under a process that has files open for writing, by `remount,abort`,
which is what the kernel does itself when a disk fails; a plain `remount,ro` is refused then. It ends as a failed disk
does: unmounted and mounted again, while no process uses it. A tmpfs can only be made read-only while no file is open
for writing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay_conformance.model.errors import HarnessError, UnavailableError
from assay_faults.bounds import MOUNT_WITHIN_S
from assay_faults.cleanup_journal import MARKER, CleanupJournal, Kind
from assay_faults.processes.running import run

_IMAGE: Final = "image"
_FILLER: Final = ".assay-filler"
_PROBE: Final = ".assay-probe"


@contextlib.contextmanager
def small_disk(ledger: CleanupJournal, parent: Path, size_bytes: int) -> Iterator[Disk]:
    """Mount a disk below `parent` for as long as the block lasts. Raise UnavailableError where that is impossible."""
    if reason := lacking():
        raise UnavailableError(reason)
    with ledger.directory(parent) as place:
        entry = ledger.creating(Kind.MOUNT, str(place / "{id}"))
        disk = Disk(Path(entry.name))
        disk.path.mkdir()
        try:
            disk.format(size_bytes)
            disk.mount(size_bytes)
            yield disk
        finally:
            disk.unmount()
            ledger.done(entry)


def lacking_ext4() -> str:
    """Return why this machine cannot mount an ext4 disk, or an empty string if it can.

    Without ext4 a disk is a tmpfs, which cannot fail under open files.
    """
    formats = Path("/proc/filesystems").read_text().split()
    if shutil.which("mkfs.ext4") and "ext4" in formats and Path("/dev/loop-control").exists():
        return ""
    return "expected mkfs.ext4 in PATH and a kernel with ext4 and loop devices"


def lacking() -> str:
    """Return what this machine lacks to mount a disk, or an empty string if it lacks nothing."""
    if os.geteuid() != 0:
        return "a disk that fills or turns read-only has to be mounted: expected root, run as it or without disk faults"
    if shutil.which("mount") is None:
        return "a disk that fills or turns read-only has to be mounted: expected the program mount in PATH"
    return ""


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk mounted by `small_disk` at `path`. Methods raise HarnessError when they fail, unless said otherwise."""

    path: Path

    @property
    def free_bytes(self) -> int:
        room = os.statvfs(self.path)
        return room.f_bavail * room.f_frsize

    @property
    def read_only(self) -> bool:
        """Whether it takes no writes: tried, for the kernel has several ways to say so."""
        probe = self.path / _PROBE
        try:
            probe.touch()
            probe.unlink()
        except OSError as error:
            return error.errno == errno.EROFS
        return False

    def fill(self, leave_bytes: int = 0) -> None:
        """Fill the disk up to `leave_bytes`, or entirely: then not even one more block fits."""
        try:
            with (self.path / _FILLER).open("wb") as file:
                while (more := self.free_bytes - leave_bytes) > 0:
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, more)
        except OSError as error:
            # What the file system needs for its own books is not free either.
            if error.errno != errno.ENOSPC:
                raise HarnessError(f"{self.path} cannot be filled: {error.strerror}") from error

    def free(self) -> None:
        """Remove what `fill` wrote."""
        (self.path / _FILLER).unlink(missing_ok=True)

    def seal(self) -> None:
        """Make the disk read-only. Raise UnavailableError on a tmpfs with a file open for writing."""
        # A disk that fails is older than a run: what was written long ago is on it without a sync, as BookKeeper's
        # cookie.
        self._run("sync", "-f", str(self.path))
        for option in ("ro", "abort") if self._image.exists() else ("ro",):
            with contextlib.suppress(HarnessError):
                self._run("mount", "-o", f"remount,{option}", str(self.path))
            if self.read_only:
                return
        raise UnavailableError(
            f"{self.path} is a tmpfs with files open for writing, which cannot be made read-only: {lacking_ext4()}"
        )

    def unseal(self) -> None:
        """Make the disk writable again.

        Processes that use it must have ended: a failed disk is unmounted and mounted again.
        """
        with contextlib.suppress(HarnessError):
            self._run("mount", "-o", "remount,rw", str(self.path))
        if self.read_only:
            self.unmount()
            self.mount()
        if self.read_only:
            raise HarnessError(f"{self.path} takes no writes after it was mounted again; expected it to")

    def mount(self, size_bytes: int = 0) -> None:
        if self._image.exists():
            self._run("mount", "-o", "loop", str(self._image), str(self.path))
        else:
            self._run("mount", "-t", "tmpfs", "-o", f"size={size_bytes}", self.path.name, str(self.path))

    def unmount(self) -> None:
        if os.path.ismount(self.path):
            self._run("umount", str(self.path))

    def format(self, size_bytes: int) -> None:
        """Make an ext4 file system in an image file beside the mount point, where this machine can mount one."""
        if lacking_ext4():
            return
        with self._image.open("wb") as file:
            file.truncate(size_bytes)
        # No blocks are reserved for root, since it is root that fills the disk here.
        self._run("mkfs.ext4", "-q", "-m", "0", str(self._image))

    @property
    def _image(self) -> Path:
        return self.path.parent / _IMAGE

    def _run(self, *command: str) -> None:
        # Its mount point is named by its entry, and so is every program that mounts it: it may outlive the run.
        environment = {**os.environ, MARKER: self.path.name}
        try:
            done = run(command, within_s=MOUNT_WITHIN_S, environment=environment)
        except (OSError, TimeoutError) as error:
            raise HarnessError(f"{' '.join(command)}: {error}") from error
        if done.returncode:
            words = done.stderr.strip().splitlines()
            raise HarnessError(f"{' '.join(command)}: {words[0] if words else done.returncode}")
