"""Making a ledger up: its worlds in as many processes as there are cores, going on where a killed one stopped."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import msgspec

from assay_conformance.ledger.tables import ATTEMPT, DELIVERY, OUTCOME, PARTS, TABLES
from assay_conformance.model.errors import HarnessError, UsageError
from assay_reports.bounds import LEAST_FREE_BYTES
from assay_reports.files import read_bytes
from assay_reports.ledgers.layout import PartWriter, create, part_name, write_file, write_info, write_smalls
from assay_reports.ledgers.synth import flows
from assay_reports.ledgers.synth.anomalies import edits_of
from assay_reports.ledgers.synth.plan import Plan
from assay_reports.ledgers.synth.rows import BLOCK_MESSAGES, Block, Columns
from assay_reports.ledgers.synth.small import info, small_tables
from assay_reports.spawning import Undisturbed

PLAN = "synth.json"
TRUTH = "truth.json"
_WHOLE = 1 << 62


def make(plan: Plan, ledger: Path, suite: str, jobs: int, say: Callable[[int, int], None]) -> None:
    """Write the ledger of the plan. `say(done, of)` is called with the number of parts.

    Continues what a killed run of the same plan left. Raises UsageError when the folder holds anything else.
    """
    _begin(plan, ledger, suite)
    todo = [number for number in range(plan.parts) if not _is_made(plan, ledger, number)]
    done = plan.parts - len(todo)
    say(done, plan.parts)
    for _ in _made(plan, ledger, todo, jobs):
        done += 1
        say(done, plan.parts)


def make_part(plan: Plan, ledger: Path, number: int) -> None:
    """Write the parts of one world, or of all flows, which come after the worlds; each appears when it is whole."""
    writers: dict[str, PartWriter] = {}
    for table, columns in _rows(plan, number):
        if table not in writers:
            writers[table] = PartWriter(ledger, TABLES[table], number, part_rows=_WHOLE, part_s=_WHOLE)
        writers[table].add(columns)
    for writer in writers.values():
        writer.close()


def _rows(plan: Plan, number: int) -> Iterator[tuple[str, Columns]]:
    if number == plan.worlds:
        for flow in plan.flows:
            yield from flows.tables(flow)
        return
    world = plan.world(number)
    edits = edits_of(world, plan.placed.get(number, []))
    step = max(1, BLOCK_MESSAGES // world.streams)
    for start in range(0, world.rounds, step):
        yield from Block(world, start, min(start + step, world.rounds), edits).tables()


def _begin(plan: Plan, ledger: Path, suite: str) -> None:
    wanted = msgspec.json.encode(plan)
    stored = ledger / PLAN
    resume = os.path.lexists(stored)
    if resume and read_bytes(stored, "the plan of a ledger that was made up") != wanted:
        raise UsageError(f"{ledger}: holds the ledger of another plan; name another folder, or remove it first")
    truth = plan.truth()
    if not resume:
        create(ledger, info(plan, suite))
    write_file(ledger, PLAN, wanted)
    write_file(ledger, TRUTH, msgspec.json.format(msgspec.json.encode(truth), indent=1) + b"\n")
    free = shutil.disk_usage(ledger).free
    if free < LEAST_FREE_BYTES:
        raise HarnessError(f"{ledger}: {free >> 20} MiB are free there; a ledger takes about 35 bytes a message")
    write_info(ledger, info(plan, suite))
    write_smalls(ledger, small_tables(plan))


def _is_made(plan: Plan, ledger: Path, number: int) -> bool:
    tables = PARTS if plan.mix else (ATTEMPT, OUTCOME, DELIVERY)
    return all((ledger / table.name / part_name(number, 0)).exists() for table in tables)


def _made(plan: Plan, ledger: Path, todo: list[int], jobs: int) -> Iterator[None]:
    if jobs == 1 or len(todo) < 2:
        for number in todo:
            make_part(plan, ledger, number)
            yield
        return
    with ProcessPoolExecutor(min(jobs, len(todo)), mp_context=Undisturbed(), initializer=_dies_at_once) as pool:
        waiting = [pool.submit(make_part, plan, ledger, number) for number in todo]
        try:
            for one in as_completed(waiting):
                one.result()
                yield
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _dies_at_once() -> None:
    """Of a worker: Ctrl-C reaches it too, and its half part is made again by whoever goes on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
