"""How long after a part lands `assay watch` says what is wrong with it, once it is warm.

    python bench/watch.py [--parts 60] [--every-s 1]

Parts of 5,000 messages land in a ledger at a steady pace; every tenth has one message out of order. The first minute is
warm-up. Prints the seconds from landing to alarm: least, median, greatest; and how many alarms were false.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np

from assay_conformance.ledger.info import LedgerInfo, Origin
from assay_conformance.ledger.rows import Consumer, Stream, Subscription, Topic, Writer
from assay_conformance.ledger.script import some_info
from assay_conformance.ledger.tables import ATTEMPT, DELIVERY, NONE, OUTCOME, Table
from assay_reports.ledgers.layout import NULL, PartWriter, create, write_info, write_smalls
from assay_reports.ledgers.opening import open_ledger
from assay_reports.spark.alarms import Alarm
from assay_reports.spark.session import Settings, spark_session
from assay_reports.spark.watch import CONF, Watch

ROWS = 5_000
BAD_EVERY = 10
WARM_UP_S = 60.0
_ZERO = ("stream", "sub", "consumer", "attempt", "code", "redeliv", "again")
SMALL: dict[str, list[tuple[Any, ...]]] = {
    "stream": [Stream(0, "p", 0)],
    "topic": [Topic(0, "t")],
    "subscription": [Subscription(0, "s")],
    "consumer": [Consumer(0, 0, "c", 1)],
    "writer": [Writer(0, "sender"), Writer(1, "receiver")],
}


def _info() -> LedgerInfo:
    return some_info(origin=Origin.SYNTH, started_unix_ms=time.time_ns() // 1_000_000)


def _land(where: Path, number: int, now_us: int, bad: bool) -> None:
    seq = np.arange(number * ROWS, (number + 1) * ROWS)
    t: Any = now_us + np.arange(ROWS)
    gap: Any = np.ones(ROWS, np.int64)
    gap[ROWS // 2] -= bad
    known = {
        **{
            name: np.zeros(ROWS, np.int64)
            for name in ("stream", "sub", "consumer", "attempt", "code", "redeliv", "again")
        },
        **{name: np.full(ROWS, NONE) for name in ("key", "batch")},
        **{name: np.ones(ROWS, np.int64) for name in ("ord", "kgap", "ok", "ledger")},
        **{name: np.full(ROWS, NULL) for name in ("deliver_at", "wait")},
        "seq": seq,
        "t": t,
        "entry": seq,
        "pos": seq,
        "gap": gap,
        "size": np.full(ROWS, 128),
        "crc": np.full(ROWS, 7),
    }
    for table in (ATTEMPT, OUTCOME, DELIVERY):
        _part(where, table, number, known)


def _part(where: Path, table: Table, number: int, known: dict[str, np.ndarray]) -> None:
    parts = PartWriter(where, table, number)
    parts.add({column.name: known[column.name] for column in table.columns})
    parts.close()


@click.command()
@click.option("--parts", default=120, show_default=True)
@click.option("--every-s", default=1.0, show_default=True)
def main(parts: int, every_s: float) -> None:
    landed: dict[int, float] = {}
    said: dict[int, float] = {}
    info = _info()
    with tempfile.TemporaryDirectory() as folder, spark_session(Settings("local[2]", CONF, "1g")) as session:
        where = Path(folder) / "ledger"
        create(where, info)
        write_smalls(where, SMALL)

        def write() -> None:
            for number in range(parts):
                bad = number % BAD_EVERY == BAD_EVERY - 1
                _land(where, number, time.time_ns() // 1000 - info.started_unix_ms * 1000, bad)
                if bad:
                    landed[number * ROWS + ROWS // 2] = time.monotonic()
                time.sleep(every_s)
            write_info(where, msgspec.structs.replace(info, ended_unix_ms=time.time_ns() // 1_000_000))

        def hear(alarm: Alarm) -> None:
            said.setdefault(alarm.seq, time.monotonic())

        began_s = time.monotonic()
        writing = threading.Thread(target=write)
        writing.start()
        watch = Watch(session, open_ledger(str(where)), hear)
        watch.run()
        writing.join()
        warm = [said[seq] - at_s for seq, at_s in landed.items() if seq in said and at_s - began_s > WARM_UP_S]
        missed, false = len(landed.keys() - said.keys()), len(said.keys() - landed.keys())
        if warm:
            middle = statistics.median(warm)
            print(f"landing to alarm  {min(warm):.2f} s, {middle:.2f} s, {max(warm):.2f} s ({len(warm)} alarms)")
        print(f"missed {missed}, false {false}; {watch.batches} batches, {watch.most_open} buckets in mind at most")


if __name__ == "__main__":
    main()
