"""Where a fault lies that stands in front of brokers, and whose numbers its receipts tell."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from assay_conformance.model.event import Fact
from assay_conformance.model.fault import AfterStep, AtTime, Fault, Scope
from assay_conformance.model.outside import Partition
from assay_faults.fault_probe import Facts, ProbePath
from assay_faults.forwarder import Carried, Forwarder
from assay_faults.ingress import Ingress, IngressInjector

PARTITION = Partition()


@dataclass(slots=True, eq=False, kw_only=True)
class Counted(Ingress[Carried]):
    """Carries what a test says it did."""

    connections: int = 0

    def carried(self) -> Carried:
        return Carried(connections=self.connections)


class Silent(IngressInjector[Counted]):
    """Nothing stands behind it; `deeds` are what was done to which broker."""

    tries = 1

    def __init__(self, faults: Mapping[int, Fault]) -> None:
        super().__init__()
        self.faults = faults
        self.deeds: list[tuple[str, int, int]] = []

    async def another(self) -> Counted:
        await self.front(f"pulsar://broker:{len(self.fronts)}")
        return self.fronts[-1]

    async def open(self, host: str, port: int) -> Counted:
        return Counted(tap=Forwarder(host, port), host=host, port=port)

    async def take_down(self, front: Counted) -> None: ...

    async def place(self, front: Counted, fault: int) -> None:
        self.deeds.append(("place", fault, front.port))

    async def remove(self, front: Counted, fault: int) -> None:
        self.deeds.append(("remove", fault, front.port))

    async def look(self, front: Counted, fault: int) -> Facts:
        self.deeds.append(("look", fault, front.port))
        return {"of": front.port}

    async def proven(
        self, front: Counted, probe: Callable[[ProbePath], Awaitable[Facts]], what: str, tries: int | None = None
    ) -> Facts:
        del front, probe, what, tries
        return {}


def fault(trigger: AtTime | AfterStep, broker: int | None = None) -> Fault:
    return Fault(trigger=trigger, action=PARTITION, scope=Scope(broker=broker))


LATER, AT_ONCE = fault(AfterStep(0)), fault(AtTime(0))


def connections(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    return {name: value for name, value in facts.items() if name.endswith("connections")}


def test_what_went_through_is_counted_for_each_broker_since_the_fault_began_there() -> None:
    async def case() -> None:
        injector = Silent({0: LATER})
        busy, idle = await injector.another(), await injector.another()
        busy.connections = 5
        await injector.inject(0)
        busy.connections, idle.connections = 7, 1
        told = (await injector.heal(0)).facts
        assert connections(told) == {"broker_0_connections": 2, "broker_1_connections": 1}

    asyncio.run(case())


def test_a_single_broker_needs_no_number() -> None:
    async def case() -> None:
        injector = Silent({0: LATER})
        await injector.another()
        assert (await injector.inject(0)).facts == {"of": 0}

    asyncio.run(case())


def test_fault_of_one_broker_lies_on_no_other() -> None:
    async def case() -> None:
        injector = Silent({0: fault(AfterStep(0), broker=1)})
        await injector.another()
        await injector.another()
        await injector.inject(0)
        assert injector.deeds == [("place", 0, 1), ("look", 0, 1)]

    asyncio.run(case())


def test_what_is_wrong_from_the_beginning_is_placed_before_anybody_looks() -> None:
    async def case() -> None:
        injector = Silent({0: AT_ONCE})
        await injector.another()
        await injector.inject(0)
        assert injector.deeds == [("place", 0, 0), ("look", 0, 0)]

    asyncio.run(case())


def test_a_fault_ends_where_it_stood() -> None:
    async def case() -> None:
        injector = Silent({0: LATER})
        await injector.another()
        await injector.inject(0)
        await injector.another()
        await injector.heal(0)
        assert injector.deeds[2:] == [("remove", 0, 0)]

    asyncio.run(case())


def test_a_fault_that_ended_can_begin_again() -> None:
    async def case() -> None:
        injector = Silent({0: AT_ONCE})
        await injector.another()
        for _ in range(2):
            await injector.inject(0)
            await injector.heal(0)
        assert [deed for deed, _, _ in injector.deeds] == ["place", "look", "remove"] * 2

    asyncio.run(case())
