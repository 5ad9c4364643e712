"""What a fault by toxiproxy does, on a real server: to us, who look, and to clients."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest

from assay_conformance.model.direction import Direction
from assay_conformance.model.errors import HarnessError
from assay_conformance.model.event import Fact
from assay_conformance.model.fault import AfterStep, AtTime, Fault
from assay_conformance.model.outside import (
    Bandwidth,
    Disable,
    Latency,
    LimitData,
    ResetPeer,
    Slicer,
    SlowClose,
    Timeout,
    Toxic,
)
from assay_faults.toxiproxy import probes
from assay_faults.toxiproxy.api import Api

from .conftest import Fronted, run

BOTH = (Direction.TO_BROKER, Direction.TO_CLIENT)
EVERY = [
    *(Latency(latency_ms=40, jitter_ms=10, direction=way) for way in BOTH),
    *(Bandwidth(rate_kb_s=100, direction=way) for way in BOTH),
    *(SlowClose(delay_ms=60, direction=way) for way in BOTH),
    *(Timeout(timeout_ms=60, direction=way) for way in BOTH),
    *(Timeout(timeout_ms=0, direction=way) for way in BOTH),
    *(Timeout(timeout_ms=60_000, direction=way) for way in BOTH),
    *(ResetPeer(direction=way) for way in BOTH),
    *(Slicer(average_bytes=100, variation_bytes=20, delay_us=1_000, direction=way) for way in BOTH),
    *(LimitData(limit_bytes=1_000, direction=way) for way in BOTH),
    *(LimitData(limit_bytes=0, direction=way) for way in BOTH),
    Disable(),
]


LATER = AfterStep(0)


def fault(action: Toxic, at: AtTime | AfterStep = LATER) -> Fault:
    return Fault(trigger=at, action=action)


async def connected(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(url)
    return await asyncio.open_connection(parts.hostname, parts.port)


async def echoed(url: str, data: bytes = b"\0hello") -> bytes:
    reader, writer = await connected(url)
    writer.write(data)
    try:
        return await reader.readexactly(len(data))
    finally:
        writer.close()


@pytest.mark.parametrize("action", EVERY, ids=repr)
def test_every_action_is_seen_to_act_and_to_be_over(fronted: Fronted, action: Toxic) -> None:
    async def case() -> None:
        async with fronted({3: fault(action)}) as (injector, url):
            receipt = await injector.inject(3)
            healed = await injector.heal(3)
            assert receipt.facts
            assert "round_trip_ms" in healed.facts
            assert await echoed(url) == b"\0hello"

    run(case())


EXPECTED: list[tuple[Toxic, dict[str, Fact]]] = [
    (LimitData(limit_bytes=1_000), {"bytes": 1_000, "end": "fin"}),
    (ResetPeer(), {"end": "reset"}),
    (Disable(), {"refused": True}),
    (Timeout(timeout_ms=0), {"silent_ms": 50}),
]


@pytest.mark.parametrize(("action", "facts"), EXPECTED, ids=lambda value: type(value).__name__)
def test_receipt_says_what_was_seen(fronted: Fronted, action: Toxic, facts: dict[str, Fact]) -> None:
    async def case() -> None:
        async with fronted({0: fault(action)}) as (injector, _):
            assert facts.items() <= (await injector.inject(0)).facts.items()

    run(case())


def test_what_is_wrong_from_the_beginning_is_so_before_a_client_can_connect(fronted: Fronted) -> None:
    async def case() -> None:
        async with fronted({0: fault(Disable(), AtTime(0))}) as (injector, url):
            with pytest.raises(ConnectionRefusedError):
                await connected(url)
            assert (await injector.inject(0)).facts == {"refused": True}

    run(case())


def test_two_toxics_of_one_type_lie_side_by_side(fronted: Fronted) -> None:
    async def case() -> None:
        async with fronted({n: fault(Latency(latency_ms=20)) for n in (0, 1)}) as (injector, _):
            await injector.inject(0)
            took_ms = (await injector.inject(1)).facts["took_ms"]
            assert isinstance(took_ms, float)
            assert took_ms >= 39

    run(case())


def test_one_of_two_faults_can_end_while_nothing_passes_for_the_other(fronted: Fronted) -> None:
    async def case() -> None:
        async with fronted({0: fault(Timeout(timeout_ms=0)), 1: fault(Latency(latency_ms=5))}) as (injector, _):
            await injector.inject(1)
            await injector.inject(0)
            assert "round_trip_ms" not in (await injector.heal(1)).facts
            assert "round_trip_ms" in (await injector.heal(0)).facts

    run(case())


def test_end_of_a_fault_says_what_clients_had_carried(fronted: Fronted) -> None:
    async def case() -> None:
        async with fronted({0: fault(Latency(latency_ms=1))}) as (injector, url):
            await echoed(url, b"\0before")
            await injector.inject(0)
            await echoed(url, b"\0between")
            facts = (await injector.heal(0)).facts
            assert (facts["connections"], facts["to_broker_bytes"], facts["to_client_bytes"]) == (1, 8, 8)

    run(case())


def test_toxic_of_some_connections_is_looked_for_until_one_has_it(fronted: Fronted) -> None:
    async def case() -> None:
        async with fronted({0: fault(Latency(latency_ms=30, toxicity=0.4))}) as (injector, _):
            took_ms = (await injector.inject(0)).facts["took_ms"]
            assert isinstance(took_ms, float)
            assert took_ms >= 29

    run(case())


def test_a_toxic_that_does_nothing_is_no_fault_that_happened(
    fronted: Fronted, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "add", lambda _proxy, _toxic: None)

    async def case() -> None:
        async with fronted({0: fault(Latency(latency_ms=200))}) as (injector, _):
            with pytest.raises(HarnessError, match=r"latency was not seen to act: a byte took \d"):
                await injector.inject(0)

    run(case())


def test_nothing_is_left_in_the_server(fronted: Fronted, api: Api) -> None:
    async def case() -> None:
        async with fronted({0: fault(Latency(latency_ms=1))}) as (injector, _):
            await injector.inject(0)

    run(case())
    assert api.proxies() == {}


def test_every_toxic_has_a_probe() -> None:
    assert {type(action) for action in EVERY} == set(probes.PROBES)
