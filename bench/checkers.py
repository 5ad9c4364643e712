"""How fast histories are judged: events a CPU second, decoding and every check of the catalogue included, on one core.

    python -m bench.checkers [--messages 30000] [--cut-every 10000] [--rounds 3] [--days 1]
                             [--costs] [--profile]

The history is a real one: the reference client sends, receives and acknowledges so many messages in virtual time, and
loses its connection now and then. A process of its own writes it as a run writes it; this one reads and judges it. With
`--days` it is written so often, each time with a client, a topic and connections of its own: what is too large to be
held is judged in parts.
`--costs` lists what each check costs, `--profile` where the time went.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from bench.days import days

from assay_conformance.cases.build import EARLIEST, Schedule, down
from assay_conformance.checks.base import View
from assay_conformance.checks.log_order import in_log_order
from assay_conformance.checks.part import run
from assay_conformance.checks.routes import routes
from assay_conformance.checks.tracker import Tracker
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.event import Event
from assay_conformance.model.fault import Cut, Fault
from assay_conformance.model.schema import FileKind
from assay_conformance.model.verdict import Judgement
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import FACTS, ReferenceTrial
from assay_fixtures.runner.folder import LineFile, read_lines
from assay_fixtures.runner.judging import judge, undisturbed
from assay_fixtures.runner.large import is_large, judge_large

AT_ONCE: Final = 100
"""Messages that are sent before the next step."""

DRAIN_MS: Final = 200
"""How long more is waited for than was sent: what a cut made come twice is taken as well."""

CUT_EVERY: Final = 10_000


def busy_day(messages: int, cut_every: int) -> Case:
    """Return a Case of one producer and one consumer that acknowledges everything, with a lost connection now and then.

    The connection is lost every `cut_every` messages.
    """
    plan = Schedule()
    client = plan.client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    for _ in range(0, messages, AT_ONCE):
        plan.send(producer, AT_ONCE)
        plan.receive(consumer, 2 * AT_ONCE, timeout_ms=DRAIN_MS)
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
            Fault(trigger=down("SEND_RECEIPT", k=k), action=Cut()) for k in range(cut_every, messages, cut_every)
        ),
        limits=Limits(operation_ms=60_000, case_ms=24 * 3_600_000),
    )


def record(messages: int, cut_every: int, count: int, path: Path) -> tuple[int, Case]:
    """Write so many days to a file; return how many events they have, and their Case."""
    case = busy_day(messages, cut_every)
    events = ReferenceTrial().in_virtual_time(case).events
    told, case = days(events, case, count)
    return write(told, path), case


def _apart(*said: Any) -> tuple[int, Case]:
    """`record`, in a process whose memory is not this one's."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        return pool.submit(record, *said).result()


def write(events: Iterable[Event], path: Path) -> int:
    """Write events to a file; return how many they were."""
    count = 0
    with LineFile(path, FileKind.HISTORY) as file:
        for event in events:
            file.add(event)
            count += 1
    return count


def judged(path: Path, case: Case) -> tuple[Judgement, ...]:
    """Read and judged as `assay check` does."""
    pack = load_packs()
    knowing = (case, FACTS, pack.catalogue, pack.checks)
    if is_large(path, case):
        return judge_large(path, *knowing)
    return judge(read_lines(path, FileKind.HISTORY, Event), *knowing)  # type: ignore[arg-type]


def costs(path: Path, case: Case) -> None:
    """Print the nanoseconds that each check takes for an event, the most expensive check first."""
    events: list[Event] = list(read_lines(path, FileKind.HISTORY, Event))  # type: ignore[arg-type]
    view, spent = View(case, FACTS, Tracker()), Counter[str]()
    checks = [check(view) for check in load_packs().checks.values()]

    def timed(name: str, method: Callable[..., None]) -> Callable[..., None]:
        def call(*told: object) -> None:
            began_ns = time.thread_time_ns()
            method(*told)
            spent[name] += time.thread_time_ns() - began_ns

        return call

    for check in checks:
        handlers = {route.method for route in routes(type(check))}
        for name in handlers | {"finish"}:
            setattr(check, name, timed(check.requirement, getattr(check, name)))
    with undisturbed():
        run(in_log_order(events), view, checks)
    for requirement, ns in spent.most_common():
        print(f"{ns / len(events):8.0f} ns  {requirement}")


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=30_000)
    parser.add_argument("--cut-every", type=int, default=CUT_EVERY, metavar="MESSAGES")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--days", type=int, default=1)
    parser.add_argument("--costs", action="store_true")
    parser.add_argument("--profile", action="store_true")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.jsonl"
        count, case = _apart(said.messages, said.cut_every, said.days, path)
        print(f"{_resident_mib():,.0f} MiB before anything is judged")
        for _ in range(said.rounds):
            began = time.process_time()
            judgements = judged(path, case)
            took_s = time.process_time() - began
            exercised = sum(one.exercised > 0 for one in judgements)
            found = sum(len(one.findings) for one in judgements)
            rate = f"{count} events in {took_s:.2f} s of CPU: {count / took_s:,.0f}/s"
            print(f"{rate}; {exercised} checks exercised, {found} findings", flush=True)
        peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"peak memory {peak_kib / 1024:,.0f} MiB")
        if said.costs:
            costs(path, case)
        if said.profile:
            profile = cProfile.Profile()
            profile.runcall(judged, path, case)
            pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(40)
    return 0


if __name__ == "__main__":
    sys.exit(main())
