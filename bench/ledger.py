"""What a row of a ledger costs: written by an agent into a segment, taken in, written as Parquet, made up; and what
certificates are of taking in, and sorting of writing.

    python bench/ledger.py [--rows N] [--messages N]

Processor time a row, so that what else the machine does counts little. Goals: an agent's writer at most 1 us, Parquet
at most 2 us a row; the generator 1 M messages a second on two cores, which is 2 us of processor time a message.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from assay_conformance.ledger.declarations import ConsumerDeclared, SegmentOpened, StreamDeclared
from assay_conformance.ledger.segments import SegmentWriter
from assay_conformance.ledger.tables import ACK, DELIVERY, PARTS, TABLES
from assay_conformance.model.event import Identity
from assay_conformance.model.payload import digest, generate
from assay_reports.ledgers.ingest import Ingest
from assay_reports.ledgers.ingest.certifying import Consumers
from assay_reports.ledgers.layout import PartWriter
from assay_reports.ledgers.synth.plan import Plan
from assay_reports.ledgers.synth.rows import BLOCK_MESSAGES, Block, Edits
from assay_reports.ledgers.synth.small import info
from assay_reports.ledgers.synth.world import World
from assay_reports.ledgers.synth.writing import make

SIZE, STREAMS = 128, 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--messages", type=int, default=1_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _tell("segment writer", "row", asked.rows, lambda: _segment(folder, asked.rows))
        _tell("ingest", "row", asked.rows, lambda: _ingest(folder))
        blocks = list(_deliveries(asked.rows))
        _tell("  certificates", "row", asked.rows, lambda: _certificates(blocks))
        _tell("Parquet writer", "row", asked.rows, lambda: _parquet(folder, blocks))
        _tell("  sorting", "row", asked.rows, lambda: _sorting(blocks))
        for mix in (False, True):
            work = partial(_make, Plan(asked.messages, 1, mix, 1_000_000), folder / f"made-{mix}")
            _tell(f"synth, {'mix' if mix else 'plain'}", "message", asked.messages, work)


def _tell(name: str, unit: str, count: int, work: Callable[[], None]) -> None:
    began_s = time.process_time()
    work()
    print(f"{name:<16}{(time.process_time() - began_s) / count * 1e6:8.2f} us a {unit}")


def _segment(folder: Path, rows: int) -> None:
    digests = [digest(generate(Identity(1, stream, 0), SIZE, 7)) for stream in range(STREAMS)]
    (folder / "segments").mkdir()
    with (folder / "segments" / "w.seg").open("wb", buffering=0) as file:
        writer = SegmentWriter(file.write, lambda: (0, 0), SegmentOpened(writer="w"))
        for stream in range(STREAMS):
            writer.declare(StreamDeclared(stream=stream, producer="p", topic="t", case=1, seed=7))
        writer.declare(ConsumerDeclared(consumer=0, subscription="s", name="c", t=0))
        add = writer.delivery
        for row in range(rows):
            stream = row % STREAMS
            add(row // STREAMS, row, 5, row, stream, 0, -1, -1, SIZE, digests[stream], 0)
        writer.close()


def _ingest(folder: Path) -> None:
    Ingest(folder / "segments", folder / "ingested", info(Plan(1, 1, False, 1), "0")).finish()


def _deliveries(rows: int) -> list[dict[str, Any]]:
    world = World(0, rows, 1, False)
    step = BLOCK_MESSAGES // STREAMS
    blocks = [Block(world, start, min(start + step, world.rounds), Edits()) for start in range(0, world.rounds, step)]
    return [columns for block in blocks for table, columns in block.tables() if table == DELIVERY.name]


def _certificates(blocks: list[dict[str, Any]]) -> None:
    nobody_acked: dict[str, Any] = {column.name: np.zeros(0, int) for column in ACK.columns}
    consumers = Consumers()
    for columns in blocks:
        consumers.deliveries(columns, nobody_acked)


def _sorting(blocks: list[dict[str, Any]]) -> None:
    for columns in blocks:
        order = np.lexsort((columns["seq"], columns["stream"]))
        for column in DELIVERY.columns:
            if column.name in columns:
                columns[column.name][order]


def _parquet(folder: Path, blocks: list[dict[str, Any]]) -> None:
    for table in PARTS:
        (folder / "written" / table.name).mkdir(parents=True)
    writer = PartWriter(folder / "written", TABLES[DELIVERY.name], 0)
    for columns in blocks:
        writer.add(columns)
    writer.close()


def _make(plan: Plan, out: Path) -> None:
    make(plan, out, "0", 1, lambda _done, _of: None)


if __name__ == "__main__":
    main()
