"""How long a real Pulsar takes to its first message, and what memory it has then.

    python bench/real_start.py [node | cluster] [--starts N]

`assay tools install pulsar` comes first. Several starts, each on folders and ports of its own; the first may have to
read the release from the disk. Goal: less than 8 s to the first message of a node with classes made ready.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
import time
from pathlib import Path

from assay_conformance.broker.raw import StoredEntry
from assay_faults.ledger import Ledger
from assay_fixtures.brokers.jvm.archive import installed
from assay_fixtures.brokers.jvm.cluster import JvmCluster
from assay_fixtures.brokers.jvm.standalone import Standalone
from assay_fixtures.brokers.pulsar.peers import Peers

TOPIC = "persistent://public/default/t"
BLOCK = bytes(StoredEntry(data=b"first").payload_frame(0, 0).block)
MB = 1 << 20


async def start(kind: str, folder: Path, ledger: Ledger) -> None:
    pulsar = installed()
    began = time.monotonic()
    make = Standalone if kind == "node" else JvmCluster
    async with make(pulsar, data=folder / "data", logs=folder, ledger=ledger) as brokers:
        ready = time.monotonic()
        url = brokers.service_url if isinstance(brokers, Standalone) else brokers.service_urls[0]
        with contextlib.closing(Peers(url)) as peers:
            await peers.append(TOPIC, [BLOCK])
        first = time.monotonic()
        print(
            f"{kind}: ready after {ready - began:.1f} s, first message stored after {first - began:.1f} s, "
            f"{brokers.rss_bytes // MB} MB; Java {pulsar.java.version}, "
            f"{'with' if pulsar.archive else 'without'} classes made ready"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="?", choices=("node", "cluster"), default="node")
    parser.add_argument("--starts", type=int, default=3)
    arguments = parser.parse_args()
    for _ in range(arguments.starts):
        with tempfile.TemporaryDirectory() as folder, Ledger.begin(Path(folder) / "ledger") as ledger:
            asyncio.run(start(arguments.kind, Path(folder), ledger))


if __name__ == "__main__":
    main()
