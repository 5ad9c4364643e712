"""How fast histories are judged: events a CPU second, decoding and every check of the catalogue included, on one core.

    python -m bench.checkers [--messages 20000] [--rounds 3] [--profile]

The history is a real one: the reference client sends, receives and acknowledges so many messages in virtual time, and
loses its connection now and then. It is written as a run writes it, read and judged. `--profile` says where the time
went.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from assay_conformance.cases.build import EARLIEST, Schedule, down
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.event import Event
from assay_conformance.model.fault import Cut, Fault
from assay_conformance.model.schema import FileKind
from assay_conformance.model.verdict import Judgement
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import FACTS, ReferenceTrial
from assay_fixtures.runner.folder import LineFile, read_lines
from assay_fixtures.runner.judging import judge

AT_ONCE: Final = 500
"""Messages that are sent before the next step."""

CUT_EVERY: Final = 2_000


def busy_day(messages: int) -> Case:
    """One producer, one consumer, everything acknowledged, the connection lost every so many messages."""
    plan = Schedule()
    client = plan.client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    for _ in range(0, messages, AT_ONCE):
        plan.send(producer, AT_ONCE)
        plan.receive(consumer, AT_ONCE)
        plan.wait_ops()
        plan.wait_ops(plan.ack(consumer))
    return plan.case(
        "bench/busy-day",
        "Messages are sent, received and acknowledged, and the connection is lost now and then",
        ("ordering.keeps-send-order",),
        capabilities=("resend_pending",),
        producer={"max_pending_messages": 2 * AT_ONCE},
        consumer=EARLIEST,
        faults=tuple(
            Fault(trigger=down("SEND_RECEIPT", k=k), action=Cut()) for k in range(CUT_EVERY, messages, CUT_EVERY)
        ),
        limits=Limits(operation_ms=60_000, case_ms=3_600_000),
    )


def write(events: list[Event], path: Path) -> None:
    with LineFile(path, FileKind.HISTORY) as file:
        for event in events:
            file.add(event)


def judged(path: Path, case: Case) -> tuple[int, tuple[Judgement, ...]]:
    """Read and judged as `assay check` does; and how many events that were."""
    events: list[Event] = list(read_lines(path, FileKind.HISTORY, Event))  # type: ignore[arg-type]
    pack = load_packs()
    return len(events), judge(events, case, FACTS, pack.catalogue, pack.checks)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    said = parser.parse_args()
    case = busy_day(said.messages)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.jsonl"
        write(list(ReferenceTrial().in_virtual_time(case).events), path)
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(said.rounds):
            began = time.process_time()
            events, judgements = judged(path, case)
            took_s = time.process_time() - began
            exercised = sum(one.exercised > 0 for one in judgements)
            print(f"{events} events in {took_s:.2f} s of CPU: {events / took_s:,.0f}/s; {exercised} checks exercised")
        peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"peak memory {peak_kib / 1024:,.0f} MiB, {before_kib / 1024:,.0f} MiB before anything was judged")
        if said.profile:
            profile = cProfile.Profile()
            profile.runcall(judged, path, case)
            pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(40)
    return 0


if __name__ == "__main__":
    sys.exit(main())
