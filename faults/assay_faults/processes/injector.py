"""Kill, pause, stop and disconnection of processes: brokers, bookies, metadata stores, proxies, the client.

A receipt is written of what was seen: pid and signal, how many sends were under way at that moment, and how long it
took until the process was really dead, stopped, or ready again. Whatever is not healed by the time the attempt ends
is healed then: no other Case finds a broker that hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from assay_conformance.model.errors import HarnessError, UnavailableError
from assay_conformance.model.event import Fact
from assay_conformance.model.fault import Fault
from assay_conformance.model.outside import Disconnect, Kill, OnProcess, Pause, Stop
from assay_faults.injector import Networked, Process, Receipt, Situation

_MS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class _Way:
    """How an action is done to a process, and undone; `signal` is empty where none is sent."""

    signal: str
    harm: Callable[[Process], Awaitable[None]]
    cure: Callable[[Process], Awaitable[None]]


def _networked(process: Process) -> Networked:
    if not isinstance(process, Networked):
        raise UnavailableError(f"{process.name} has no network of its own: expected a broker in a container")
    return process


_WAYS: Final[Mapping[type, _Way]] = {
    Kill: _Way("SIGKILL", lambda process: process.kill(), lambda process: process.start()),
    Stop: _Way("SIGTERM", lambda process: process.stop(), lambda process: process.start()),
    Pause: _Way("SIGSTOP", lambda process: process.pause(), lambda process: process.resume()),
    Disconnect: _Way(
        "", lambda process: _networked(process).disconnect(), lambda process: _networked(process).reconnect()
    ),
}


class ProcessInjector:
    """`Injector` of the means `processes`."""

    def __init__(self, situation: Situation) -> None:
        self._situation = situation
        self._actions: dict[int, OnProcess] = {}
        self._harmed: dict[int, Process] = {}
        # Several faults may mean one process: what is begun on it ends before the next begins.
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def prepare(self, faults: Mapping[int, Fault]) -> None:
        for number, fault in faults.items():
            action = fault.action
            assert isinstance(action, OnProcess)
            self._actions[number] = action
            if action.target.owner_of is None:  # who owns a topic is known only once the topic is used
                process = self._situation.process(action.target)
                if isinstance(action, Disconnect):
                    _networked(process)

    async def front(self, url: str) -> str:
        return url

    async def inject(self, fault: int) -> Receipt:
        action = self._actions[fault]
        process = self._situation.process(action.target)
        async with self._turns[process.name]:
            way = _WAYS[type(action)]
            facts: dict[str, Fact] = {
                "process": process.name,
                "pid": process.pid or 0,
                **({"signal": way.signal} if way.signal else {}),
                "in_flight": self._situation.in_flight(),
            }
            self._harmed[fault] = process
            return Receipt({**facts, **await self._timed(way.harm(process))})

    async def heal(self, fault: int) -> Receipt:
        process = self._harmed.pop(fault)
        async with self._turns[process.name]:
            taken = await self._timed(_WAYS[type(self._actions[fault])].cure(process))
            return Receipt({"process": process.name, "pid": process.pid or 0, **taken})

    async def close(self) -> None:
        for fault in tuple(self._harmed):
            # The end was reported to the Case already, when it was due.
            with contextlib.suppress(HarnessError):
                await self.heal(fault)

    async def _timed(self, deed: Awaitable[None]) -> dict[str, Fact]:
        began_ns = self._situation.now_ns()
        await deed
        return {"took_ms": (self._situation.now_ns() - began_ns) // _MS}
