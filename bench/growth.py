"""Whether the time to read foreign input grows with its size, or with the square of it.

    python -m bench.growth [plan replay history turns refusals reconnects handles day run expectations toml agent]
                           [consumers members topics unloads flushes refused stuck closed seeks cumulative nacks]

Each input is made in two sizes, the larger one `--factor` times the smaller, and read as commands read it: by a
separate process, whose time and memory are printed. A factor of ten may take fifteen times as long.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from bench.long_histories import EVENTS_EACH

from assay_conformance.cases.build import EARLIEST, Schedule
from assay_conformance.checks.trial import ANY_CASE
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.agent import Answer
from assay_conformance.model.case import Limits
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import ErrorClass, MessageId, Outcome
from assay_conformance.model.fault import Drop, Fault, OnFrame
from assay_conformance.model.run import read_run
from assay_conformance.model.schema import FileKind, header
from assay_conformance.pulsar.cases import all_cases
from assay_fixtures.reference.probe import FACTS, ReferenceTrial
from assay_fixtures.runner.folder import RunFolder, history_path, lines, read_lines
from assay_fixtures.verified import exit_code
from assay_reports.files import load

GOLDEN = Path(__file__).parents[1] / "fixtures" / "golden" / "runs" / "1.1"
ALLOWED = 1.5
"""How many times the factor the time may grow."""


class Input(NamedTuple):
    """`write` makes one of `size`, `read` reads it; `size` is the smaller one, in things of which it has many."""

    size: int
    of: str
    write: Callable[[Path, int], None]
    read: Callable[[Path], Any]


# --- what is written -------------------------------------------------------------------------------------------------


def _run_folder(folder: Path) -> None:
    folder.mkdir()
    (folder / "run.json").write_bytes((GOLDEN / "run.json").read_bytes())


def _plan(folder: Path, size: int) -> None:
    _run_folder(folder)
    case = next(one for one in all_cases() if one.id == "resend/queue-order")
    many = (msgspec.structs.replace(case, id=f"{case.id}-{number}") for number in range(size))
    (folder / "plan.jsonl").write_bytes(lines(FileKind.PLAN, many))


def _replay(folder: Path, size: int) -> None:
    folder.mkdir()
    lost = Fault(trigger=OnFrame(command="SEND_RECEIPT", direction=Direction.TO_CLIENT), action=Drop(), optional=True)
    (case,) = (one for one in all_cases() if one.id == "resend/queue-order")
    document = {
        **msgspec.structs.asdict(header(FileKind.REPLAY)),
        **dict.fromkeys(("suite", "catalogue", "agent", "client", "version", "broker"), "1"),
        "case": msgspec.structs.replace(case, faults=(lost,) * size),
        "breaches": [{"requirement": case.requirements[0], "clause": "", "code": "lost", "sentence": ""}],
    }
    (folder / "replay.json").write_bytes(msgspec.json.encode(document))


def _history(folder: Path, size: int) -> None:
    folder.mkdir()
    story = Script()
    story.producer()
    for number in range(size // 4):
        story.send(number)
        story.send_frame(number, sequence_id=number)
        story.stored(number)
        story.receipt(number)
        if number % 7 == 0:
            # Once more, long after.
            story.receipt(number // 2)
    (folder / "1.jsonl").write_bytes(lines(FileKind.HISTORY, story.done()))


def _turns(folder: Path, size: int) -> None:
    folder.mkdir()
    story, sends = Script(), range(size // 4)
    story.producer()
    for number in sends:
        # Every second one under the same id, and nothing is answered before all have left.
        story.send(number)
        story.send_frame(number, sequence_id=number * (number % 2))
    for number in reversed(sends):
        story.receipt(number * (number % 2))
    (folder / "1.jsonl").write_bytes(lines(FileKind.HISTORY, story.done()))


def _refusals(folder: Path, size: int) -> None:
    folder.mkdir()
    story = Script()
    story.producer(max_pending_messages=10)
    for number in range(size // 2):
        call = story.send(number)
        if number < 10:
            story.send_frame(number, sequence_id=number)
        else:
            story.complete(call, Outcome.FAIL, error=ErrorClass.QUEUE_FULL)
    (folder / "1.jsonl").write_bytes(lines(FileKind.HISTORY, story.done()))


def _reconnects(folder: Path, size: int) -> None:
    """Write a history with a connection for each message, of a producer and of a consumer that asks for one at a
    time."""
    folder.mkdir()
    story = Script()
    story.producer()
    story.consumer(receiver_queue_size=0)
    for number in range(size // 18):
        receive = story.invoke("receive", CONSUMER, args={"count": 1})
        story.flow(1, conn=number)
        story.send(number)
        story.send_frame(number, conn=number)
        story.stored(number)
        story.receipt(number, conn=number)
        story.ok(number)
        story.message(number, conn=number)
        story.received(number)
        story.complete(receive, count=1)
        story.cut(number)
        story.producer_again(number + 1, last_sequence_id=number, epoch=number + 1)
        story.subscribed(number + 1)
    (folder / "1.jsonl").write_bytes(lines(FileKind.HISTORY, story.done()))


def _handles(folder: Path, size: int) -> None:
    """Write a history with a producer for each message, all on one connection."""
    folder.mkdir()
    story = Script()
    for handle in range(1, size // 11 + 1):
        its: dict[str, Any] = {"producer_id": handle, "name": f"p{handle}"}
        story.producer(handle, **its)
        story.send(0, handle)
        story.send_frame(0, handle=handle, **its)
        story.receipt(0, producer_id=handle, id=MessageId(1, handle))
        story.ok(0, handle)
        closing = story.invoke("close", handle)
        story.up("CLOSE_PRODUCER", producer_id=handle, request_id=1_000_000 + handle)
        story.down("SUCCESS", request_id=1_000_000 + handle)
        story.complete(closing)
    (folder / "1.jsonl").write_bytes(lines(FileKind.HISTORY, story.done()))


def _long(story: Callable[[int], Script], folder: Path, size: int) -> None:
    folder.mkdir()
    events = story(max(1, size // EVENTS_EACH[story])).done()
    (folder / "1.jsonl").write_bytes(lines(FileKind.HISTORY, events))


def _day(folder: Path, size: int) -> None:
    """Write a day of the reference client: every tenth message is refused and comes again, all are acknowledged."""
    folder.mkdir()
    plan = Schedule()
    client = plan.client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    for first in range(0, size // 10, 50):
        plan.wait_ops(plan.send(producer, 50))
        plan.wait_ops(plan.receive(consumer, 50, timeout_ms=200))
        plan.nack(consumer, numbers=range(first, first + 50, 10))
        plan.wait_ops(plan.receive(consumer, 5, timeout_ms=400))
        plan.wait_ops(plan.ack(consumer))
    config = {**EARLIEST, "subscription_type": "shared", "nack_delay_ms": 100}
    case = plan.case("bench/day", "A day", (), consumer=config, limits=Limits(case_ms=86_400_000))
    (folder / "1.jsonl").write_bytes(lines(FileKind.HISTORY, ReferenceTrial().in_virtual_time(case).events))


def _run(folder: Path, size: int) -> None:
    """Write a day as the only Case of a run."""
    run = RunFolder.create(folder)
    info = load(GOLDEN / "run.json", "a run's run.json", read_run)
    run.write_info(msgspec.structs.replace(info, facts=FACTS))
    run.write_plan([ANY_CASE])
    history = history_path(folder, ANY_CASE.id, 1).parent
    history.parent.mkdir(parents=True)
    _day(history, size)


def _expectations(folder: Path, size: int) -> None:
    folder.mkdir()
    head = 'schema = "2.0"\nagent = "reference"\ntested = "*"\n'
    cause = '[[deviation]]\nid = "cause-{0}"\ntitle = "t"\nversions = "*"\nreason = "it is known, number {0}"\n'
    seen = '[[deviation.seen]]\nrequirement = "resend.keeps-order"\ncode = "lost"\ncases = ["resend/case-{0}"]\n'
    text = "".join((cause + seen).format(number) for number in range(size))
    (folder / "expectations.toml").write_text(head + text)


def _toml(folder: Path, size: int) -> None:
    folder.mkdir()
    text = "".join(f'[a.b.t{number}]\nkey = [1, 2, {{ x = "y" }}]\n' for number in range(size))
    (folder / "agent.toml").write_text(text)


def _agent(folder: Path, size: int) -> None:
    folder.mkdir()
    note = {"event": "note", "t_ns": 1, "text": "x" * 50, "values": {"a": [1, 2, {"b": "c"}]}}
    (folder / "lines").write_bytes((json.dumps(note).encode() + b"\n") * size)


# --- how it is read --------------------------------------------------------------------------------------------------


def _read_plan(folder: Path) -> object:
    from assay_fixtures.runner.folder import StoredRun

    return StoredRun(folder)


def _read_replay(folder: Path) -> None:
    from assay_fixtures.cli.replay import read
    from assay_fixtures.reference.probe import ReferenceTrial

    ReferenceTrial().in_virtual_time(read(folder / "replay.json").case)


def _judge_history(folder: Path) -> None:
    from assay_conformance.model.event import Event
    from assay_fixtures.packs import load_packs
    from assay_fixtures.runner.judging import judge
    from assay_fixtures.runner.large import is_large, judge_large

    pack, path = load_packs(), folder / "1.jsonl"
    # All checks: this client has every capability and every key.
    knowing = (FACTS, pack.catalogue, pack.checks)
    if is_large(path, ANY_CASE):
        judge_large(path, ANY_CASE, *knowing)
    else:
        events: Iterator[Event] = read_lines(path, FileKind.HISTORY, Event)  # type: ignore[arg-type]
        judge(events, ANY_CASE, *knowing)


def _check_run(folder: Path) -> None:
    from assay_fixtures.cli.settle import conclude, rejudge, settle
    from assay_fixtures.packs import load_packs
    from assay_fixtures.runner.folder import StoredRun

    stored, pack = StoredRun(folder), load_packs()
    settle(stored, pack, conclude(stored, pack, rejudge(stored, pack)))


def _read_expectations(folder: Path) -> None:
    from assay_reports.expectations import check_known, read_expectations

    found = read_expectations(folder / "expectations.toml")
    check_known(found, {"resend.keeps-order"}, {entry.case for entry in found.entries})


def _read_toml(folder: Path) -> None:
    from assay_reports.files import read_toml

    read_toml(folder / "agent.toml", "an agent's agent.toml")


def _read_agent(folder: Path) -> None:
    from assay_conformance.model.doors import decode_json

    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Answer)
    for line in (folder / "lines").read_bytes().splitlines():
        decode_json(line, decoder)


INPUTS: dict[str, Input] = {
    "plan": Input(10_000, "Cases", _plan, _read_plan),
    "replay": Input(200, "faults", _replay, _read_replay),
    "history": Input(10_000, "events", _history, _judge_history),
    "turns": Input(10_000, "events", _turns, _judge_history),
    "refusals": Input(10_000, "events", _refusals, _judge_history),
    "reconnects": Input(10_000, "events", _reconnects, _judge_history),
    "handles": Input(10_000, "events", _handles, _judge_history),
    **{story.__name__: Input(10_000, "events", partial(_long, story), _judge_history) for story in EVENTS_EACH},
    "day": Input(5_000, "events", _day, _judge_history),
    "run": Input(5_000, "events", _run, _check_run),
    "expectations": Input(1_000, "entries", _expectations, _read_expectations),
    "toml": Input(3_000, "tables", _toml, _read_toml),
    "agent": Input(10_000, "lines", _agent, _read_agent),
}


# --- how it is measured ----------------------------------------------------------------------------------------------


class Measured(NamedTuple):
    cpu_s: float
    memory_mib: int


def _measure(name: str, folder: Path, told: Any) -> None:
    # What reading imports and builds once is no part of the growth.
    warm = folder.with_name(f"{folder.name}-warm")
    INPUTS[name].write(warm, 8)
    INPUTS[name].read(warm)
    began = time.process_time()
    kept = INPUTS[name].read(folder)
    took = time.process_time() - began
    del kept
    told.put(Measured(took, _most_held_mib()))


def _most_held_mib() -> int:
    """Return the most memory in MiB that this process alone held.

    `ru_maxrss` begins with what the parent held, which wrote the input.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def measure(name: str, size: int) -> Measured:
    """Measure an input in a separate process."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="assay-growth-") as base:
        folder = Path(base) / "input"
        INPUTS[name].write(folder, size)
        told = context.SimpleQueue()
        process = context.Process(target=_measure, args=(name, folder, told))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit(f"{name}: reading {size} {INPUTS[name].of} ended with {process.exitcode}")
        measured: Measured = told.get()
        return measured


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*INPUTS, []], metavar="INPUT")
    parser.add_argument("--factor", type=int, default=10)
    asked = parser.parse_args()
    tried = failed = 0
    for name in asked.names or INPUTS:
        tried += 1
        size = INPUTS[name].size
        small, large = measure(name, size), measure(name, size * asked.factor)
        ratio = large.cpu_s / max(small.cpu_s, 1e-3)
        failed |= ratio > asked.factor * ALLOWED
        print(
            f"{name:<13} {size:>7} {INPUTS[name].of}: {small.cpu_s:7.2f} s {small.memory_mib:5} MiB;  "
            f"x{asked.factor}: {large.cpu_s:7.2f} s {large.memory_mib:5} MiB, {ratio:5.1f} times as long",
            flush=True,
        )
    return exit_code(tried, failed, "inputs")


if __name__ == "__main__":
    sys.exit(main())
