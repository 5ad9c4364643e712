"""A small real cluster: each process of it may die and come back, and what was acknowledged is there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from assay_conformance.broker.raw import StoredEntry
from assay_conformance.model.errors import UnavailableError
from assay_conformance.model.outside import Role, Target
from assay_faults.cleanup_journal import CleanupJournal
from assay_fixtures.brokers.jvm.cluster import JvmCluster
from assay_fixtures.brokers.jvm.command import Pulsar
from assay_fixtures.brokers.pulsar.admin import Admin, Position
from assay_fixtures.brokers.pulsar.peers import Peers
from assay_fixtures.brokers.pulsar.rest import Rest

TOPIC = "persistent://public/default/t"
HARMED = (Target(role=Role.BOOKIE, index=1), Target(role=Role.BROKER, index=0), Target(role=Role.METADATA_STORE))
LARGEST_MB = 2_048


async def append(cluster: JvmCluster, count: int) -> list[Position]:
    peers = Peers(cluster.service_urls[0])
    try:
        blocks = [bytes(StoredEntry(data=b"%d" % number).payload_frame(number, 1).block) for number in range(count)]
        return await peers.append(TOPIC, blocks)
    finally:
        peers.close()


async def held(cluster: JvmCluster) -> list[Position]:
    admin, peers = Admin(Rest(cluster.admin_urls)), Peers(cluster.service_urls[0])
    try:
        last = (await admin.internal_stats(TOPIC)).last
        return [entry.position for entry in await peers.read(TOPIC, last)]
    finally:
        peers.close()
        await admin.close()


@pytest.mark.long
def test_what_was_acknowledged_outlives_every_process_and_all_at_once(
    pulsar: Pulsar, ledger: CleanupJournal, tmp_path: Path
) -> None:
    async def life() -> None:
        keep = {"defaultRetentionTimeInMinutes": "-1", "defaultRetentionSizeInMB": "-1"}
        cluster = JvmCluster(pulsar, data=tmp_path / "data", logs=tmp_path / "logs", ledger=ledger, extra=keep)
        async with cluster:
            assert cluster.rss_bytes < LARGEST_MB << 20
            stored = await append(cluster, 50)
            for target in HARMED:
                await cluster.process(target).kill()
                await cluster.process(target).start()
                stored += await append(cluster, 50)
                assert await held(cluster) == stored
            await cluster.kill_all()
            await cluster.start_all()
            assert await held(cluster) == stored

    asyncio.run(life())


def test_a_process_that_it_does_not_have_is_unavailable(pulsar: Pulsar, ledger: CleanupJournal, tmp_path: Path) -> None:
    cluster = JvmCluster(pulsar, data=tmp_path / "data", logs=tmp_path / "logs", ledger=ledger)
    with pytest.raises(UnavailableError, match="this cluster has 3 x bookie: none is number 3"):
        cluster.process(Target(role=Role.BOOKIE, index=3))
