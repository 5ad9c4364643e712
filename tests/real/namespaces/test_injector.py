"""What a fault of packets does, on a network of our own: to us, who look, and to clients."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest

from assay_conformance.model.direction import Direction
from assay_conformance.model.fault import AfterStep, AtTime, Fault
from assay_conformance.model.outside import OnNetwork, Partition, Shape
from assay_faults.namespaces.injector import NamespaceInjector

from ..conftest import echoing

UP, DOWN = Direction.TO_BROKER, Direction.TO_CLIENT
EVERY = [
    Shape(delay_ms=20, jitter_ms=5),
    *(Shape(delay_ms=20, direction=way) for way in (UP, DOWN)),
    Shape(loss=0.1),
    Shape(duplicate=0.2),
    Shape(reorder=0.2),
    Shape(corrupt=0.1),
    Shape(rate_kb_s=500),
    Shape(loss=0.05, duplicate=0.1, reorder=0.1, delay_ms=2),
    Partition(),
    *(Partition(direction=way) for way in (UP, DOWN)),
]
LATER = AfterStep(0)


def fault(action: OnNetwork, at: AtTime | AfterStep = LATER) -> Fault:
    return Fault(trigger=at, action=action)


def run(awaitable: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await awaitable

    asyncio.run(bounded())


@asynccontextmanager
async def fronted(faults: Mapping[int, Fault]) -> AsyncIterator[tuple[NamespaceInjector, str]]:
    """An injector prepared for these faults, and the address in front of an echoing broker."""
    async with echoing() as broker:
        injector = NamespaceInjector()
        try:
            await injector.prepare(faults)
            yield injector, await injector.front(broker)
        finally:
            await injector.close()


async def echoed(url: str, data: bytes = b"\0hello") -> bytes:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(data)
    try:
        return await reader.readexactly(len(data))
    finally:
        writer.close()


@pytest.mark.parametrize("action", EVERY, ids=repr)
def test_every_action_is_seen_to_act_and_to_be_over(action: OnNetwork) -> None:
    async def case() -> None:
        async with fronted({3: fault(action)}) as (injector, url):
            assert (await injector.inject(3)).facts
            assert "round_trip_ms" in (await injector.heal(3)).facts
            assert await echoed(url) == b"\0hello"

    run(case())


def test_bytes_arrive_whole_and_in_order_whatever_happens_to_packets() -> None:
    sent = b"\0" + bytes(range(256)) * 400

    async def case() -> None:
        action = Shape(loss=0.02, duplicate=0.1, reorder=0.1, corrupt=0.02)
        async with fronted({0: fault(action, AtTime(0))}) as (_, url):
            assert await echoed(url, sent) == sent

    run(case())


def test_a_connection_lives_through_a_short_partition() -> None:
    async def case() -> None:
        async with fronted({0: fault(Partition())}) as (injector, url):
            parts = urlsplit(url)
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            await injector.inject(0)
            writer.write(b"\0during")
            await injector.heal(0)
            assert await reader.readexactly(7) == b"\0during"
            writer.close()

    run(case())


def test_end_of_a_fault_says_what_became_of_the_packets() -> None:
    async def case() -> None:
        async with fronted({0: fault(Shape(loss=0.3))}) as (injector, _):
            await injector.inject(0)
            facts = (await injector.heal(0)).facts
            assert int(facts["lost"]) > 0
            assert int(facts["passed"]) > int(facts["lost"])

    run(case())


def test_packets_of_several_brokers_are_counted_apart_since_the_fault_began() -> None:
    async def case() -> None:
        async with fronted({0: fault(Shape(delay_ms=5))}) as (injector, url), echoing() as broker:
            await injector.front(broker)
            await echoed(url, bytes(1_000_000))
            await injector.inject(0)
            facts = (await injector.heal(0)).facts
            assert 0 < int(facts["broker_0_passed_bytes"]) < 500_000
            assert 0 < int(facts["broker_1_passed_bytes"]) < 500_000

    run(case())


def test_two_networks_are_apart() -> None:
    async def case() -> None:
        async with fronted({0: fault(Partition(), AtTime(0))}), fronted({}) as (_, url):
            assert await echoed(url) == b"\0hello"

    run(case())


def _devices() -> list[str]:
    return [name for name in os.listdir("/sys/class/net") if name.startswith("assay")]


def test_nothing_is_left_of_it() -> None:
    async def case() -> None:
        async with fronted({}):
            assert _devices()

    run(case())
    assert not _devices()


KILLED = """
import sys
from assay_faults.namespaces.network import Network
Network(1).start()
print("up", flush=True)
sys.stdin.read()
"""


def test_nothing_is_left_of_a_run_that_was_killed() -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    assert _devices()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not _devices()
