"""A Pulsar proxy in front of a cluster: it is there for who asks, clients go through it, and who does not is seen."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from tests.end_to_end.running import command_line, mutant

from assay_conformance.model.outside import Role, Target
from assay_faults.cleanup_journal import CleanupJournal
from assay_fixtures.brokers.jvm.cluster import JvmCluster
from assay_fixtures.brokers.jvm.command import Pulsar

pytestmark = pytest.mark.long

CASE = "connection/behind-a-proxy"


def certify(agent: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = command_line("certify", agent, "--broker", "cluster", "--select", CASE, "--run-dir", str(folder))
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_clients_find_their_topics_through_the_proxy(tmp_path: Path) -> None:
    run = certify("reference", tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    assert list(tmp_path.glob("*/proxy.log"))


def test_a_client_that_walks_around_the_proxy_is_seen(tmp_path: Path) -> None:
    run = certify(str(mutant(tmp_path, "ignores-proxy")), tmp_path / "runs")
    assert run.returncode == 1, run.stdout + run.stderr
    assert f"connection.proxy-to-broker-url in {CASE}: not-named" in run.stdout


def test_the_proxy_comes_with_who_asks_for_it_and_from_then_on_with_the_others(
    pulsar: Pulsar, ledger: CleanupJournal, tmp_path: Path
) -> None:
    async def life() -> None:
        async with JvmCluster(pulsar, data=tmp_path / "data", logs=tmp_path / "logs", ledger=ledger) as cluster:
            proxy = cluster.process(Target(role=Role.PROXY))
            assert proxy.pid is None
            first, second = await asyncio.gather(cluster.open_proxy(), cluster.open_proxy())
            assert first == second
            await cluster.kill_all()
            assert proxy.pid is None
            await cluster.start_all()
            assert proxy.pid is not None

    asyncio.run(life())
