"""Toxics and proxies that go down: client -> toxiproxy -> tap -> frame link -> broker.

The receipt of a fault is what a connection of our own saw of it (`probes.py`); that of its end, that a byte passes
again, and what clients had carried through in the meantime.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from assay_conformance.model.errors import HarnessError, UsageError
from assay_conformance.model.fault import AtTime, Fault, Scope
from assay_faults.injector import Receipt
from assay_faults.ledger import Entry, Kind, Ledger
from assay_faults.second_look import Facts, Way, passes, proven
from assay_faults.tap import Carried, Tap
from assay_faults.toxiproxy.probes import PROBES
from assay_faults.toxiproxy.server import FindServer
from assay_faults.toxiproxy.toxics import OnStream, toxic

_TRIES: Final = 5
"""How many connections are tried: on a busy machine pieces run together, and what is slow is slower than patience."""
_RARELY: Final = 40
"""The same for a toxic that only some of them get."""


@dataclass(frozen=True, slots=True)
class _Front:
    """What stands in front of one broker. `entry` notes its proxy; `standing` are the faults it has now."""

    proxy: str
    entry: Entry
    host: str
    port: int
    tap: Tap
    standing: set[int] = field(default_factory=set)


class ToxiproxyInjector:
    """`Injector` of the means `toxiproxy`."""

    def __init__(self, find: FindServer, ledger: Ledger) -> None:
        self._find = find
        self._ledger = ledger
        self._faults: Mapping[int, Fault] = {}
        self._fronts: list[_Front] = []
        self._early: set[int] = set()
        self._before: dict[tuple[str, int], Carried] = {}
        # What one fault does to a proxy, and what is seen of it, ends before the next one begins.
        self._turn = asyncio.Lock()

    async def prepare(self, faults: Mapping[int, Fault]) -> None:
        for number, fault in faults.items():
            if fault.scope != Scope(broker=fault.scope.broker):
                raise UsageError(
                    f"fault {number}: {_tag(fault)} lies on every connection to a broker; expected a scope of a broker "
                    "alone"
                )
            if getattr(fault.action, "toxicity", 1) <= 0:
                raise UsageError(f"fault {number}: {_tag(fault)}: no connection would get it; expected toxicity > 0")
        self._faults = faults
        self._api = await self._find()

    async def front(self, url: str) -> str:
        """A proxy for one broker. What is to be wrong from the beginning is so before anybody can connect."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        tap = Tap(parts.hostname, parts.port)
        entry = await asyncio.to_thread(self._ledger.creating, Kind.PROXY, "{id}", url=self._api.url)
        proxy = await asyncio.to_thread(self._api.create, entry.name, await tap.start())
        host, _, port = proxy.listen.rpartition(":")
        front = _Front(entry.name, entry, host, int(port), tap)
        self._fronts.append(front)
        for number, fault in self._faults.items():
            if fault.trigger == AtTime(0) and fault.scope.broker in (None, len(self._fronts) - 1):
                await self._place(front, number)
                self._early.add(number)
        return f"{parts.scheme}://{host}:{port}"

    async def inject(self, fault: int) -> Receipt:
        async with self._turn:
            facts: Facts = {}
            for front in self._within(fault):
                if fault not in self._early:
                    self._before[front.proxy, fault] = front.tap.carried
                    await self._place(front, fault)
                facts = await self._seen(front, fault)
            return Receipt(facts)

    async def heal(self, fault: int) -> Receipt:
        async with self._turn:
            facts: Facts = {}
            for front in self._within(fault):
                since = front.tap.carried.since(self._before.get((front.proxy, fault), Carried()))
                await self._remove(front, fault)
                # Beside another fault, a byte that does not pass would say nothing about this one.
                if not front.standing:
                    facts = await self._proven(front, passes, f"the end of {_tag(self._faults[fault])}")
                facts |= asdict(since)
            return Receipt(facts)

    async def close(self) -> None:
        for front in self._fronts:
            front.tap.close()
            # A server that is gone took its proxies along; of one that hangs, the ledger has them removed.
            with contextlib.suppress(HarnessError):
                await asyncio.to_thread(self._api.destroy, front.proxy)
                await asyncio.to_thread(self._ledger.done, front.entry)
        self._fronts.clear()

    # --- one proxy ---

    async def _place(self, front: _Front, fault: int) -> None:
        action = self._faults[fault].action
        front.standing.add(fault)
        if isinstance(action, OnStream):
            await asyncio.to_thread(self._api.add, front.proxy, toxic(f"fault-{fault}", action))
        else:
            await asyncio.to_thread(self._api.enable, front.proxy, False)

    async def _remove(self, front: _Front, fault: int) -> None:
        front.standing.discard(fault)
        if isinstance(self._faults[fault].action, OnStream):
            await asyncio.to_thread(self._api.remove, front.proxy, f"fault-{fault}")
        else:
            await asyncio.to_thread(self._api.enable, front.proxy, True)

    async def _seen(self, front: _Front, fault: int) -> Facts:
        action = self._faults[fault].action
        tries = _TRIES if getattr(action, "toxicity", 1) >= 1 else _RARELY
        return await self._proven(front, partial(PROBES[type(action)], action), _tag(self._faults[fault]), tries)

    async def _proven(
        self, front: _Front, probe: Callable[[Way], Awaitable[Facts]], what: str, tries: int = _TRIES
    ) -> Facts:
        def way() -> Way:
            return Way(front.host, front.port, front.tap)

        return await proven(way, probe, f"toxiproxy at {self._api.url}: {what}", tries)

    def _within(self, fault: int) -> list[_Front]:
        broker = self._faults[fault].scope.broker
        return [front for number, front in enumerate(self._fronts) if broker in (None, number)]


def _tag(fault: Fault) -> str:
    return str(fault.action.__struct_config__.tag)
