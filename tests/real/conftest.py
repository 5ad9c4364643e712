"""What tests with real processes share. They have environments of their own in tox, and are not collected otherwise.

What needs something that the machine lacks is left out, and said to be (`tests/left_out.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.left_out import Need, require
from tests.room import see_room

from assay_faults.cleanup_journal import CleanupJournal
from assay_fixtures.brokers.jvm.archive import installed
from assay_fixtures.brokers.jvm.command import Pulsar

_NEEDS: Mapping[str, Need] = {
    "jvm": Need.PULSAR,
    "external": Need.PULSAR,
    "cluster": Need.PULSAR,
    "test_exported_scripts.py": Need.PULSAR,
    "toxiproxy": Need.TOXIPROXY,
    "containers": Need.DOCKER,
    "namespaces": Need.NAMESPACES,
}
"""By folder or module, what all tests in it need."""


ROOM_BYTES = 2 << 30
"""For the largest of what these tests start, a cluster with disks of its own, and for images of containers."""


def pytest_sessionstart() -> None:
    see_room(ROOM_BYTES, "a session of tests with real servers")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture of the test is made."""
    require(_NEEDS[item.path.relative_to(Path(__file__).parent).parts[0]])


@pytest.fixture(scope="session")
def pulsar() -> Pulsar:
    """The release; `assay tools install pulsar` comes first."""
    return installed()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[CleanupJournal]:
    """In the end nothing is left in it."""
    with CleanupJournal.begin(tmp_path / "ledger") as ledger:
        yield ledger
        assert not ledger.left()


@asynccontextmanager
async def echoing() -> AsyncIterator[str]:
    """A broker that says what it hears; its URL."""
    broker = await asyncio.start_server(_echo, "127.0.0.1", 0)
    try:
        yield f"pulsar://127.0.0.1:{broker.sockets[0].getsockname()[1]}"
    finally:
        broker.close()


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
