"""How long a real Pulsar takes to its first message, and what memory it has then.

    python bench/real_start.py [node | cluster | container] [--starts N]

`assay tools install pulsar` comes first, and `assay tools image pulsar` for a container. Several starts, each on
folders and ports of its own; the first may have to read the release from the disk. Goal: less than 8 s to the first
message of a node with classes made ready.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from assay_conformance.broker.raw import StoredEntry
from assay_faults.cleanup_journal import CleanupJournal
from assay_fixtures.brokers.container.engine import connect
from assay_fixtures.brokers.container.node import ContainerNode
from assay_fixtures.brokers.jvm.archive import installed
from assay_fixtures.brokers.jvm.cluster import JvmCluster
from assay_fixtures.brokers.jvm.process import rss_bytes_of
from assay_fixtures.brokers.jvm.standalone import Standalone
from assay_fixtures.brokers.pulsar.peers import Peers
from assay_fixtures.tools.image import image_name

TOPIC = "persistent://public/default/t"
BLOCK = bytes(StoredEntry(data=b"first").payload_frame(0, 0).block)
MB = 1 << 20


class Up(NamedTuple):
    """Brokers that are ready."""

    service_url: str
    rss_bytes: Callable[[], int]
    made_of: str


@asynccontextmanager
async def node(folder: Path, ledger: CleanupJournal) -> AsyncIterator[Up]:
    pulsar = installed()
    async with Standalone(pulsar, data=folder / "data", logs=folder, ledger=ledger) as brokers:
        yield Up(brokers.service_url, lambda: brokers.rss_bytes, _classes())


@asynccontextmanager
async def cluster(folder: Path, ledger: CleanupJournal) -> AsyncIterator[Up]:
    async with JvmCluster(installed(), data=folder / "data", logs=folder, ledger=ledger) as brokers:
        yield Up(brokers.service_urls[0], lambda: brokers.rss_bytes, _classes())


@asynccontextmanager
async def container(folder: Path, ledger: CleanupJournal) -> AsyncIterator[Up]:
    image = image_name()
    with contextlib.closing(connect()) as engine:
        brokers = ContainerNode(engine, image, ledger=ledger, log=folder / "log")
        try:
            await brokers.start()
            yield Up(brokers.service_url, lambda: rss_bytes_of(brokers.pid), image)
        finally:
            await brokers.close()


KINDS: dict[str, Callable[[Path, CleanupJournal], AbstractAsyncContextManager[Up]]] = {
    "node": node,
    "cluster": cluster,
    "container": container,
}


def _classes() -> str:
    pulsar = installed()
    return f"Java {pulsar.java.version}, {'with' if pulsar.archive else 'without'} classes made ready"


async def start(kind: str, folder: Path, ledger: CleanupJournal) -> None:
    began = time.monotonic()
    async with KINDS[kind](folder, ledger) as brokers:
        ready = time.monotonic()
        with contextlib.closing(Peers(brokers.service_url)) as peers:
            await peers.append(TOPIC, [BLOCK])
        first = time.monotonic()
        print(
            f"{kind}: ready after {ready - began:.1f} s, first message stored after {first - began:.1f} s, "
            f"{brokers.rss_bytes() // MB} MB; {brokers.made_of}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="?", choices=KINDS, default="node")
    parser.add_argument("--starts", type=int, default=3)
    arguments = parser.parse_args()
    for _ in range(arguments.starts):
        with tempfile.TemporaryDirectory() as folder, CleanupJournal.begin(Path(folder) / "ledger") as ledger:
            asyncio.run(start(arguments.kind, Path(folder), ledger))


if __name__ == "__main__":
    main()
