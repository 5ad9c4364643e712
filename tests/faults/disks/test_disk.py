"""A small disk really fills and really refuses writes, under a process that has files open on it."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.left_out import Need, needs

from assay_conformance.model.errors import UnavailableError
from assay_conformance.model.fault import AfterStep, Fault
from assay_conformance.model.outside import FillDisk, OnDisk, ReadOnlyDisk
from assay_faults.cleanup_journal import CleanupJournal
from assay_faults.disks.disk import Disk, small_disk
from assay_faults.disks.injector import DiskInjector
from assay_faults.injector import Situation

ROOT_ONLY = needs(Need.ROOT)
EXT4_ONLY = needs(Need.EXT4)
SIZE = 8 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with CleanupJournal.begin(tmp_path / "ledgers") as ledger, small_disk(ledger, tmp_path, SIZE) as disk:
        yield disk


def refusal(path: Path) -> int | None:
    """What the disk says to a kilobyte more."""
    try:
        with path.open("ab") as file:
            file.write(bytes(1024))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno
    return None


@ROOT_ONLY
def test_a_full_disk_takes_nothing_until_it_is_freed(disk: Disk) -> None:
    (disk.path / "data").touch()
    disk.fill()
    assert refusal(disk.path / "data") == errno.ENOSPC
    disk.free()
    assert refusal(disk.path / "data") is None


@ROOT_ONLY
def test_a_disk_can_be_filled_but_for_so_many_bytes(disk: Disk) -> None:
    disk.fill(leave_bytes=1 << 20)
    assert (1 << 20) - 8192 < disk.free_bytes <= 1 << 20


@EXT4_ONLY
def test_a_read_only_disk_refuses_who_has_a_file_open_already(disk: Disk) -> None:
    with (disk.path / "data").open("ab", buffering=0) as file:
        file.write(b"before")
        disk.seal()
        with pytest.raises(OSError, match="Read-only"):
            file.write(b"behind")


@EXT4_ONLY
def test_what_was_written_before_a_disk_failed_is_there_when_it_is_mounted_again(disk: Disk) -> None:
    with (disk.path / "data").open("wb") as file:
        file.write(b"kept")
        file.flush()
        os.fsync(file.fileno())
        disk.seal()
    disk.unseal()
    assert (disk.path / "data").read_bytes() == b"kept"
    assert refusal(disk.path / "data") is None


@ROOT_ONLY
def test_nothing_is_left_of_a_disk(tmp_path: Path) -> None:
    with CleanupJournal.begin(tmp_path / "ledgers") as ledger, small_disk(ledger, tmp_path, SIZE) as disk:
        disk.seal()
    assert not list((tmp_path / "ledgers").iterdir())
    assert [path.name for path in tmp_path.iterdir()] == ["ledgers"]
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()


def test_without_root_there_is_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with (
        CleanupJournal.begin(tmp_path) as ledger,
        pytest.raises(UnavailableError, match="has to be mounted: expected root"),
        small_disk(ledger, tmp_path, SIZE),
    ):
        pass


# --- the injector ---


class Bookie:
    """A process that lies on the disk, and says when it was killed and started."""

    name = "bookie 1"

    def __init__(self, disk: Disk | None) -> None:
        self.disk = None if disk is None else str(disk.path)
        self.pid: int | None = 7
        self.done: list[str] = []

    async def kill(self) -> None:
        self.pid = None
        self.done.append("kill")

    async def start(self) -> None:
        self.pid = 8
        self.done.append("start")

    async def stop(self) -> None: ...

    async def pause(self) -> None: ...

    async def resume(self) -> None: ...


def injector(bookie: Bookie) -> DiskInjector:
    return DiskInjector(Situation(lambda _target: bookie, lambda: 0, lambda: 0))


async def fault_of(injector: DiskInjector, action: OnDisk) -> list[dict[str, object]]:
    """Injected and healed; the facts of both receipts."""
    await injector.prepare({0: Fault(trigger=AfterStep(0), action=action)})
    return [dict((await injector.inject(0)).facts), dict((await injector.heal(0)).facts)]


@ROOT_ONLY
def test_the_receipts_of_a_full_disk_say_how_much_was_free(disk: Disk) -> None:
    before = disk.free_bytes
    injected, healed = asyncio.run(fault_of(injector(Bookie(disk)), FillDisk()))
    assert injected == {
        "process": "bookie 1",
        "pid": 7,
        "free_bytes_before": before,
        "free_bytes": 0,
        "read_only": False,
    }
    assert healed["free_bytes"] == before


@ROOT_ONLY
def test_a_disk_is_mounted_again_while_its_process_is_down(disk: Disk) -> None:
    bookie = Bookie(disk)
    injected, healed = asyncio.run(fault_of(injector(bookie), ReadOnlyDisk()))
    assert (injected["read_only"], healed["read_only"]) == (True, False)
    assert bookie.done == ["kill", "start"]


@ROOT_ONLY
def test_a_process_without_a_disk_of_its_own_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match="bookie 1 has no disk of its own"):
        asyncio.run(fault_of(injector(Bookie(None)), FillDisk()))
