"""Full and read-only disks under a broker's or a bookie's data.

The process has to lie on a disk of its own (`Process.disk`). A receipt says what the disk reported before and after:
bytes free, and whether it takes writes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path

from assay_conformance.model.errors import HarnessError, UnavailableError
from assay_conformance.model.event import Fact
from assay_conformance.model.fault import Fault
from assay_conformance.model.outside import FillDisk, OnDisk
from assay_faults.disks.disk import Disk, lacking
from assay_faults.injector import Process, Receipt, Situation


class DiskInjector:
    """`Injector` of the means `disks`."""

    def __init__(self, situation: Situation) -> None:
        self._situation = situation
        self._actions: dict[int, OnDisk] = {}
        self._harmed: dict[int, Process] = {}

    async def prepare(self, faults: Mapping[int, Fault]) -> None:
        if reason := lacking():
            raise UnavailableError(reason)
        for number, fault in faults.items():
            action = fault.action
            assert isinstance(action, OnDisk)
            self._actions[number] = action
            if action.target.owner_of is None:  # who owns a topic is known only once the topic is used
                _disk_of(self._situation.process(action.target))

    async def front(self, url: str) -> str:
        return url

    async def inject(self, fault: int) -> Receipt:
        action = self._actions[fault]
        process = self._harmed[fault] = self._situation.process(action.target)
        disk = _disk_of(process)
        free_bytes = disk.free_bytes
        if isinstance(action, FillDisk):
            await asyncio.to_thread(disk.fill, action.leave_bytes)
        else:
            await asyncio.to_thread(disk.seal)
        return Receipt({**_facts(process, disk), "free_bytes_before": free_bytes})

    async def heal(self, fault: int) -> Receipt:
        """Heal the disk, then restart its process, which may have ended because of the fault."""
        process = self._harmed.pop(fault)
        disk = _disk_of(process)
        if isinstance(self._actions[fault], FillDisk):
            await asyncio.to_thread(disk.free)
        else:
            if process.pid is not None:
                await process.kill()
            await asyncio.to_thread(disk.unseal)
        await process.start()
        return Receipt(_facts(process, disk))

    async def close(self) -> None:
        for fault in tuple(self._harmed):
            # The end was reported to the Case already, when it was due.
            with contextlib.suppress(HarnessError):
                await self.heal(fault)


def _disk_of(process: Process) -> Disk:
    if process.disk is None:
        raise UnavailableError(f"{process.name} has no disk of its own: expected a broker that was started with disks")
    return Disk(Path(process.disk))


def _facts(process: Process, disk: Disk) -> dict[str, Fact]:
    return {
        "process": process.name,
        "pid": process.pid or 0,
        "free_bytes": disk.free_bytes,
        "read_only": disk.read_only,
    }
