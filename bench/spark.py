"""What judging a ledger costs: Spark and DuckDB in turn over the same files, in one run, and what folds save.

    python -m bench.spark [--messages N ...] [--rounds N] [--mix] [--folder DIR] [--memory SIZE] [--keep]

For each size a plain ledger is made up (three events a message; one that is there is used again). Then, round after
round: the whole screen over all rows by DuckDB, and by Spark on two cores. After the rounds: folding once, the screen
over the folds, and a whole `reconcile` of a ledger with anomalies, with the share of the judge. CPU seconds compare on
a busy machine as long as both are measured in one round; the other figures need an idle one. `--rounds 0` leaves the
screens over all rows out: what remains is what `assay reconcile` does, stage by stage. With `--mix` the ledger
holds what healthy runs hold besides (resends, redeliveries, chunks, restarts ...), and Spark is measured alone.

Goals on two cores: at 10^8 messages 10 M events/s and at most twice the CPU seconds of DuckDB; the screen over the
folds of 3 * 10^8 events within 6 s once warm; less than 3 GiB at any size; the judge below a fifth of the recount.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from assay_conformance.catalogue import load
from assay_conformance.ledger.tables import ACK, EVENTS, PARTS
from assay_conformance.ledger.words import ALL, WORDS, Folded, Merge
from assay_fixtures.programs import Kept
from assay_reports.ledgers.opening import Ledger, open_ledger, smalls
from assay_reports.spark import folds, screen, views
from assay_reports.spark.progress import Progress
from assay_reports.spark.reconcile import reconcile
from assay_reports.spark.session import Settings, spark_session

CORES = 2
_SUBSCRIPTIONS = 64
_TICKS = os.sysconf("SC_CLK_TCK")
_BIT = "(1::UBIGINT << (seq & 63)::UBIGINT)"
_MASKS = (Merge.OR, Merge.XOR)


@dataclass
class Cost:
    """Of one way at one size; a value for each round."""

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    @contextlib.contextmanager
    def measured(self, cpu_s: Callable[[], float]) -> Iterator[None]:
        wall, cpu = time.perf_counter(), cpu_s()
        yield
        self.wall_s.append(time.perf_counter() - wall)
        self.cpu_s.append(cpu_s() - cpu)

    def told(self, name: str, events: int) -> str:
        wall, cpu = statistics.median(self.wall_s), statistics.median(self.cpu_s)
        return (
            f"  {name:<28} {wall:8.2f} s  {cpu:8.2f} CPU s  {events / wall / 1e6:7.2f} M events/s  "
            f"{cpu / events * 1e9:7.1f} CPU ns/event  ({min(self.wall_s):.2f} to {max(self.wall_s):.2f} s)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, nargs="+", default=[10_000_000, 100_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--memory", default="2g")
    parser.add_argument("--mix", action="store_true", help="ledgers of everything that healthy runs hold")
    parser.add_argument("--keep", action="store_true", help="leave the ledgers for the next time")
    options = parser.parse_args()
    with contextlib.ExitStack() as ending:
        folder = options.folder or Path(tempfile.mkdtemp(prefix="assay-bench-"))
        if not options.keep:
            ending.callback(subprocess.run, ["rm", "-rf", str(folder)], check=False)
        for messages in options.messages:
            where = folder / f"{'mix' if options.mix else 'plain'}-{messages}"
            synth(where, messages, options.mix)
            _measure(open_ledger(str(where)), options.rounds, options.memory, compared=not options.mix)


def synth(where: Path, messages: int, mix: bool) -> None:
    began = time.perf_counter()
    program = str(Path(sys.executable).with_name("assay"))
    command = [program, "ledger", "synth", str(where), "--messages", str(messages)]
    subprocess.run([*command, "--mix" if mix else "--plain", "--anomalies", "default"], check=True)
    print(f"{where.name}: there after {time.perf_counter() - began:.1f} s", flush=True)


def _measure(ledger: Ledger, rounds: int, memory: str, *, compared: bool) -> None:
    events = sum(ledger.rows(table.name) for table in EVENTS)
    duck, spark = Cost(), Cost()
    print(f"{ledger.where}: {events} events, load {os.getloadavg()[0]:.1f}")
    with spark_session(Kept(), Settings(f"local[{CORES}]", memory=memory)) as session:
        pid = jvm(session)
        # As `reconcile` has it: without a row of `ack` no consumer acknowledges, and nothing is owed.
        acking = range(_SUBSCRIPTIONS) if ledger.rows(ACK.name) else ()
        views.show_small(session, smalls(ledger), ledger.info, acking)
        session.conf.set("spark.sql.shuffle.partitions", str(max(2, events // 16_000_000)))
        query = screen.screen(screen.stacked(folds.recount(session, ledger)))
        for _ in range(rounds):
            with spark.measured(lambda: cpu_s(pid)):
                ours = session.sql(query).where("mask <> 0").count()
            if not compared:
                continue
            with duck.measured(time.process_time):
                theirs = _by_duckdb(session, ledger)
            if ours != theirs:
                raise SystemExit(f"Spark flags {ours} buckets, DuckDB {theirs}: one of them is wrong")
        if rounds:
            print(spark.told("Spark, all rows", events))
        if rounds and compared:
            print(duck.told("DuckDB, all rows", events))
            print(f"  CPU ratio {statistics.median(spark.cpu_s) / statistics.median(duck.cpu_s):.2f}")
        _folded(session, ledger, rounds, events, pid)
        print(f"  peak RSS {peak_mib(pid):.0f} MiB, shuffled {_shuffled_mib(session):.0f} MiB in all", flush=True)


def _folded(session: Any, ledger: Ledger, rounds: int, events: int, pid: int) -> None:
    fold, merge, whole = Cost(), Cost(), Cost()
    with fold.measured(lambda: cpu_s(pid)):
        kept = folds.fold_parts(session, ledger, smalls(ledger))
    sources = {}
    for table in PARTS:
        frame = kept.of(session, "words", (table.name,))
        if frame is not None:
            frame.createOrReplaceTempView(f"kept_{table.name}")
            sources[table.name] = f"select * from kept_{table.name}"
    query = screen.screen(screen.stacked(sources))
    for _ in range(max(1, rounds) + 1):
        with merge.measured(lambda: cpu_s(pid)):
            session.sql(query).where("mask <> 0").count()
    merge.wall_s.pop(0)
    merge.cpu_s.pop(0)
    stages = Stages()
    with whole.measured(lambda: cpu_s(pid) + time.process_time()):
        found = reconcile(session, ledger, load(), progress=stages)
    print(fold.told("fold, once", events))
    print(merge.told("screen over folds, warm", events))
    print(whole.told("reconcile, already folded", events))
    told = ", ".join(f"{name} {took:.2f} s" for name, took in stages.took.items())
    print(f"  of it {told}; {found.flagged} buckets, {found.picked} rows judged")


class Stages(Progress):
    """How long each stage took."""

    def __init__(self) -> None:
        super().__init__()
        self.took: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, name: str, rows: int = 0) -> Iterator[None]:
        del rows
        began = time.perf_counter()
        yield
        self.took[name] = time.perf_counter() - began


# --- DuckDB ---------------------------------------------------------------------------------------------------------


def _by_duckdb(session: Any, ledger: Ledger) -> int:
    """Screen the same files with DuckDB; return how many buckets are flagged."""
    with duckdb.connect() as connection:
        connection.execute(f"set threads = {CORES}; set memory_limit = '4GB'; set preserve_insertion_order = false")
        for table in PARTS:
            files = f"{ledger.where}/{table.name}/*.parquet"
            if ledger.parts[table.name]:
                connection.execute(f"create view raw_{table.name} as select * from '{files}'")
        for view in (screen.REACH, screen.SCOPES):
            connection.register(view, session.table(view).toArrow())
        stack = " union all ".join(_fold(table.name) for table in PARTS if ledger.parts[table.name])
        query = _spoken(screen.screen(stack))
        row = connection.execute(f"select count(*) from ({query}) where mask <> 0").fetchone()
        return int(row[0]) if row else 0


def _fold(table: str) -> str:
    sub = "sub" if table in ("delivery", "ack") else "-1::SMALLINT"
    words = ", ".join(f"{_word(word, table)} {word.name}" for word in WORDS)
    return f"select {sub} sub, stream, seq >> 6 b, {words} from raw_{table} group by all"


def _word(word: Folded, table: str) -> str:
    empty = "0::UBIGINT" if word.merge in _MASKS else f"{screen._empty(word)}::BIGINT"
    if word.table != table or word.name in screen.FOR_LOOKALIKES:
        return empty
    condition = "" if word.where == ALL else f" filter ({word.where})"
    match word.merge:
        case Merge.OR | Merge.XOR:
            return f"coalesce({word.merge.value}({_BIT}){condition}, {empty})"
        case Merge.SUM:
            return f"count(*){condition}"
        case Merge.MIN | Merge.MAX:
            return f"coalesce({word.merge.value}({word.value}::BIGINT){condition}, {empty})"


def _spoken(text: str) -> str:
    """Return Spark's SQL as DuckDB reads it; plain ledgers have no restarts."""
    text = re.sub(r"exists\(restarts, one -> [^()]*\)", "false", text)
    return re.sub(r"(\d)[LS]\b", r"\1", text)


# --- the JVM --------------------------------------------------------------------------------------------------------


def jvm(session: Any) -> int:
    return int(session.sparkContext._jvm.java.lang.ProcessHandle.current().pid())


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def peak_mib(pid: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def _shuffled_mib(session: Any) -> float:
    store = session.sparkContext._jsc.sc().statusStore()
    return float(store.executorSummary("driver").totalShuffleWrite()) / (1 << 20)


if __name__ == "__main__":
    main()
