"""One node of real Pulsar: what it holds outlives it, and what goes wrong with it is one sentence."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.left_out import Need, needs

from assay_conformance.broker.raw import StoredEntry
from assay_conformance.model.errors import HarnessError
from assay_conformance.model.policy import BrokerSettings
from assay_faults.cleanup_journal import CleanupJournal
from assay_faults.disks.disk import small_disk
from assay_fixtures.brokers.jvm.command import Pulsar
from assay_fixtures.brokers.jvm.settings import SMALL, broker_conf
from assay_fixtures.brokers.jvm.standalone import HEAP_MB, Standalone
from assay_fixtures.brokers.pulsar.admin import Admin, Position
from assay_fixtures.brokers.pulsar.peers import Peers
from assay_fixtures.brokers.pulsar.rest import Rest

Make = Callable[..., Standalone]
TOPIC = "persistent://public/default/t"


@pytest.fixture
def make(pulsar: Pulsar, ledger: CleanupJournal, tmp_path: Path) -> Make:
    def make(data: Path = tmp_path / "data", **wishes: Any) -> Standalone:
        return Standalone(pulsar, data=data, logs=tmp_path / "logs", ledger=ledger, **wishes)

    return make


def block(number: int) -> bytes:
    return bytes(StoredEntry(data=b"%d" % number).payload_frame(number, 1_000).block)


async def append(node: Standalone, payloads: int) -> list[Position]:
    peers = Peers(node.service_url)
    try:
        return await peers.append(TOPIC, [block(number) for number in range(payloads)])
    finally:
        peers.close()


async def held(node: Standalone) -> list[Position]:
    admin, peers = Admin(Rest([node.admin_url])), Peers(node.service_url)
    try:
        last = (await admin.internal_stats(TOPIC)).last
        return [entry.position for entry in await peers.read(TOPIC, last)]
    finally:
        peers.close()
        await admin.close()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("graceful", [False, pytest.param(True, marks=pytest.mark.long)])
def test_what_is_stored_is_there_after_a_restart_on_the_same_ports(make: Make, graceful: bool) -> None:
    async def life() -> None:
        # Without retention a node that comes back drops what nobody has to read any more.
        async with make(extra={"defaultRetentionTimeInMinutes": "-1", "defaultRetentionSizeInMB": "-1"}) as node:
            url, stored = node.service_url, await append(node, 100)
            assert node.rss_bytes < 2 * HEAP_MB << 20
            await node.restart(graceful=graceful)
            assert node.service_url == url
            assert await held(node) == stored

    asyncio.run(life())


@pytest.mark.one_in(2)
def test_a_paused_node_answers_once_it_goes_on(make: Make) -> None:
    async def life() -> None:
        async with make() as node:
            await append(node, 1)
            await node.pause()
            pending = asyncio.ensure_future(append(node, 1))
            done, _ = await asyncio.wait({pending}, timeout=0.3)
            assert not done
            await node.resume()
            assert len(await pending) == 1

    asyncio.run(life())


@pytest.mark.one_in(2)
def test_the_release_knows_every_key_we_write(make: Make) -> None:
    async def life() -> None:
        async with make() as node:
            rest = Rest([node.admin_url])
            try:
                known = await rest.ask("GET", "admin/v2/brokers/configuration/runtime", kind=dict[str, str])
            finally:
                await rest.close()
            written = {**SMALL, **broker_conf(BrokerSettings())}
            assert {key: known.get(key) for key in written} == written

    asyncio.run(life())


@pytest.mark.one_in(2)
def test_a_port_somebody_took_while_it_was_down_is_named_in_its_complaint(make: Make) -> None:
    async def life() -> None:
        async with make() as node:
            await node.kill()
            with socket.create_server(("127.0.0.1", node.broker_port)), pytest.raises(HarnessError, match="in use"):
                await node.process.start()

    asyncio.run(life())


@needs(Need.ROOT)
def test_a_full_disk_is_its_complaint(make: Make, ledger: CleanupJournal, tmp_path: Path) -> None:
    with small_disk(ledger, tmp_path, 12 << 20) as disk, pytest.raises(HarnessError, match="No space left on device"):
        asyncio.run(make(data=disk.path / "data").start())


def test_a_data_folder_that_cannot_be_made_is_named(make: Make, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    with pytest.raises(HarnessError, match=r"data: (File exists|Not a directory)"):
        asyncio.run(make().start())
