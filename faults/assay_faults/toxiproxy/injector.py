"""Toxics and proxies that go down: client -> toxiproxy -> tap -> frame link -> broker.

The receipt of a fault is what a connection of our own saw of it (`probes.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from assay_conformance.model.errors import HarnessError, UsageError
from assay_conformance.model.fault import Fault
from assay_faults.cleanup_journal import CleanupJournal, Entry, Kind
from assay_faults.fault_probe import Facts, ProbePath
from assay_faults.forwarder import Carried, Forwarder
from assay_faults.ingress import Ingress, IngressInjector, tag
from assay_faults.toxiproxy.probes import PROBES
from assay_faults.toxiproxy.server import FindServer
from assay_faults.toxiproxy.toxics import OnStream, toxic

_RARELY: Final = 40
"""How many connections are tried for a toxic that only some of them get."""


@dataclass(slots=True, eq=False, kw_only=True)
class ProxyFront(Ingress[Carried]):
    """A proxy, as the server knows it. `entry` notes it."""

    proxy: str
    entry: Entry

    def carried(self) -> Carried:
        return self.tap.carried


class ToxiproxyInjector(IngressInjector[ProxyFront]):
    """`Injector` of the means `toxiproxy`."""

    tries = 5  # on a busy machine pieces run together, and what is slow is slower than patience

    def __init__(self, find: FindServer, ledger: CleanupJournal) -> None:
        super().__init__()
        self._find = find
        self._ledger = ledger

    async def prepare(self, faults: Mapping[int, Fault]) -> None:
        await super().prepare(faults)
        for number, fault in faults.items():
            if getattr(fault.action, "toxicity", 1) <= 0:
                raise UsageError(f"fault {number}: {tag(fault)}: no connection would get it; expected toxicity > 0")
        self._api = await self._find()

    async def open(self, host: str, port: int) -> ProxyFront:
        tap = Forwarder(host, port)
        entry = await asyncio.to_thread(self._ledger.creating, Kind.PROXY, "{id}", url=self._api.url)
        proxy = await asyncio.to_thread(self._api.create, entry.name, await tap.start())
        near_host, _, near_port = proxy.listen.rpartition(":")
        return ProxyFront(tap=tap, host=near_host, port=int(near_port), proxy=entry.name, entry=entry)

    async def take_down(self, front: ProxyFront) -> None:
        # The proxies of a server that has ended are gone; those of one that hangs are removed by the journal's cleaner.
        with contextlib.suppress(HarnessError):
            await asyncio.to_thread(self._api.destroy, front.proxy)
            await asyncio.to_thread(self._ledger.done, front.entry)

    async def place(self, front: ProxyFront, fault: int) -> None:
        action = self.faults[fault].action
        if isinstance(action, OnStream):
            await asyncio.to_thread(self._api.add, front.proxy, toxic(f"fault-{fault}", action))
        else:
            await asyncio.to_thread(self._api.enable, front.proxy, False)

    async def remove(self, front: ProxyFront, fault: int) -> None:
        if isinstance(self.faults[fault].action, OnStream):
            await asyncio.to_thread(self._api.remove, front.proxy, f"fault-{fault}")
        else:
            await asyncio.to_thread(self._api.enable, front.proxy, True)

    async def look(self, front: ProxyFront, fault: int) -> Facts:
        action = self.faults[fault].action
        tries = None if getattr(action, "toxicity", 1) >= 1 else _RARELY
        return await self.proven(front, partial(PROBES[type(action)], action), tag(self.faults[fault]), tries)

    async def proven(
        self, front: ProxyFront, probe: Callable[[ProbePath], Awaitable[Facts]], what: str, tries: int | None = None
    ) -> Facts:
        return await super().proven(front, probe, f"toxiproxy at {self._api.url}: {what}", tries)
