"""A real Pulsar in a container, harmed in every way a Case may, and what is left of it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from assay_faults.cleaning import clean
from assay_faults.cleanup_journal import CleanupJournal
from assay_fixtures.brokers.container.engine import Engine
from assay_fixtures.brokers.container.node import ContainerNode
from assay_fixtures.brokers.jvm.asking import ask_web
from assay_fixtures.brokers.pulsar.admin import Admin
from assay_fixtures.brokers.pulsar.rest import Rest
from assay_fixtures.tools import pulsar as release

pytestmark = pytest.mark.long

KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
from assay_faults.cleaning import LABEL
from assay_faults.cleanup_journal import Kind, CleanupJournal
entry = CleanupJournal.begin(Path(sys.argv[1])).creating(Kind.CONTAINER, "toy")
subprocess.run(["docker", "run", "--detach", "--label", f"{LABEL}={entry.id}", sys.argv[2], "-version"], check=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@asynccontextmanager
async def running(engine: Engine, image: str, ledger: CleanupJournal, log: Path) -> AsyncIterator[ContainerNode]:
    node = ContainerNode(engine, image, ledger=ledger, log=log)
    try:
        await node.start()
        yield node
    finally:
        await node.close()


async def version(node: ContainerNode) -> str:
    """What it answers, or the name of what came instead."""
    try:
        return await ask_web(f"{node.admin_url}/admin/v2/brokers/version")
    except OSError as error:
        return type(error).__name__


def test_a_node_is_harmed_and_comes_back(engine: Engine, image: str, ledger: CleanupJournal, tmp_path: Path) -> None:
    """One story, for a start takes ten seconds: each harm is seen from outside, and so is that it has ended."""
    log = tmp_path / "pulsar.log"

    async def story() -> None:
        async with running(engine, image, ledger, log) as node:
            first = node.pid
            assert await version(node) == release.VERSION

            await node.pause()
            assert await version(node) == "TimeoutError"
            await node.resume()
            assert await version(node) == release.VERSION

            await node.disconnect()
            assert await version(node) != release.VERSION
            await node.reconnect()
            assert await version(node) == release.VERSION

            admin = Admin(Rest((node.admin_url,)))
            await admin.create_tenant("kept", await admin.clusters())
            await admin.close()
            await node.kill()
            assert node.pid is None
            await node.start()
            assert node.pid not in (None, first)
            assert '"kept"' in await ask_web(f"{node.admin_url}/admin/v2/tenants")

            await node.stop()
            assert node.pid is None

    asyncio.run(story())
    assert log.read_text().count("messaging service is ready") == 2


def test_a_container_of_a_killed_run_is_removed(engine: Engine, image: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, tmp_path, image], check=False, stdout=subprocess.DEVNULL)
    assert len(engine.client.containers.list(all=True)) == 1
    assert [one.trouble for one in clean(tmp_path)] == [""]


def test_an_image_that_is_there_is_not_built_again(image: str, capsys: pytest.CaptureFixture[str]) -> None:
    from assay_fixtures.tools.image import build

    assert build(None, print) == image
    assert capsys.readouterr().out == ""
