"""Injectors that stand between clients and brokers: client -> what may go wrong -> forwarder -> frame link -> broker.

They have a front for each broker, and a fault lies on all that goes through it. Its receipt is a second look, by
connections of our own (`fault_probe.py`); that of its end, that a byte passes again, and what had gone through in the
meantime. Where a fault lies on several brokers, `broker_N_` in front of a fact says which one's it is.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Generic, TypeVar
from urllib.parse import urlsplit

from assay_conformance.model.errors import UsageError
from assay_conformance.model.fault import Action, AtTime, Fault, Scope
from assay_faults.fault_probe import Facts, ProbePath, passes, proven
from assay_faults.forwarder import Forwarder
from assay_faults.injector import Receipt
from assay_faults.measure import Measure

M = TypeVar("M", bound=Measure)


@dataclass(slots=True, eq=False, kw_only=True)
class Ingress(ABC, Generic[M]):
    """What stands in front of one broker, at `host`, `port`. `standing` are its faults, the last one in force; `before`
    is what had gone through when each began."""

    tap: Forwarder
    host: str
    port: int
    standing: dict[int, Action] = field(default_factory=dict)
    before: dict[int, M] = field(default_factory=dict)

    @abstractmethod
    def carried(self) -> M:
        """Return the counts of what has gone through so far."""

    def way(self) -> ProbePath:
        return ProbePath(self.host, self.port, self.tap)


F = TypeVar("F", bound=Ingress[Any])


class IngressInjector(ABC, Generic[F]):
    """`Injector` by fronts. What a means does with its tool is in the methods from `open` on."""

    tries: ClassVar[int]
    """How many connections of ours are tried until one has seen what it should."""

    def __init__(self) -> None:
        self.faults: Mapping[int, Fault] = {}
        self.fronts: list[F] = []
        # What one fault does to a front, and what is seen of it, ends before the next one begins.
        self._turn = asyncio.Lock()

    async def prepare(self, faults: Mapping[int, Fault]) -> None:
        for number, fault in faults.items():
            if fault.scope != Scope(broker=fault.scope.broker):
                raise UsageError(
                    f"fault {number}: {tag(fault)} lies on every connection to a broker; expected a scope of a broker "
                    "alone"
                )
        self.faults = faults

    async def front(self, url: str) -> str:
        """Put an ingress in front of the broker at `url` and return its URL.

        Faults that hold from the beginning act before any client can connect.
        """
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        front = await self.open(parts.hostname, parts.port)
        self.fronts.append(front)
        for number, fault in self.faults.items():
            if fault.trigger == AtTime(0) and front in self._within(number).values():
                await self._begin(front, number)
        return f"{parts.scheme}://{front.host}:{front.port}"

    async def inject(self, fault: int) -> Receipt:
        async def seen(front: F) -> Facts:
            if fault not in front.standing:
                await self._begin(front, fault)
            return await self.look(front, fault)

        return await self._at_each(self._within(fault), seen)

    async def heal(self, fault: int) -> Receipt:
        async def healed(front: F) -> Facts:
            since = front.carried().since(front.before.pop(fault))
            del front.standing[fault]
            await self.remove(front, fault)
            # Beside another fault, a byte that does not pass would say nothing about this one.
            whole = not front.standing
            facts = await self.proven(front, passes, f"the end of {tag(self.faults[fault])}") if whole else {}
            return facts | asdict(since)

        # A broker that joined after the fault began got its ingress without it.
        harmed = {number: front for number, front in self._within(fault).items() if fault in front.standing}
        return await self._at_each(harmed, healed)

    async def close(self) -> None:
        for front in self.fronts:
            front.tap.close()
            await self.take_down(front)
        self.fronts.clear()

    async def proven(
        self, front: F, probe: Callable[[ProbePath], Awaitable[Facts]], what: str, tries: int | None = None
    ) -> Facts:
        """Return what a connection of ours saw of the fault.

        Raise HarnessError, naming `what`, when no connection saw what it should.
        """
        return await proven(front.way, probe, what, tries or self.tries)

    @abstractmethod
    async def open(self, host: str, port: int) -> F:
        """Open an ingress for the broker at this address."""

    @abstractmethod
    async def take_down(self, front: F) -> None:
        """Remove all of the ingress."""

    @abstractmethod
    async def place(self, front: F, fault: int) -> None:
        """Make the traffic of `front` meet the fault, which is in force from now on."""

    @abstractmethod
    async def remove(self, front: F, fault: int) -> None:
        """Stop the fault from acting on the traffic of `front`."""

    @abstractmethod
    async def look(self, front: F, fault: int) -> Facts:
        """Return what connections of ours saw of the fault. Raise HarnessError when it was not seen to act."""

    async def _begin(self, front: F, fault: int) -> None:
        front.before[fault] = front.carried()
        front.standing[fault] = self.faults[fault].action
        await self.place(front, fault)

    async def _at_each(self, fronts: Mapping[int, F], act: Callable[[F], Awaitable[Facts]]) -> Receipt:
        facts: Facts = {}
        async with self._turn:
            for number, front in fronts.items():
                mark = f"broker_{number}_" if len(fronts) > 1 else ""
                facts |= {f"{mark}{name}": value for name, value in (await act(front)).items()}
        return Receipt(facts)

    def _within(self, fault: int) -> dict[int, F]:
        """Return the ingresses in the fault's scope, by the number of their broker."""
        broker = self.faults[fault].scope.broker
        return {number: front for number, front in enumerate(self.fronts) if broker in (None, number)}


def tag(fault: Fault) -> str:
    return str(fault.action.__struct_config__.tag)
