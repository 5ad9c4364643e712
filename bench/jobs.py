"""How long does a certification take, beside an earlier checkout, and beside every fixed number of Cases at a time?

    python -m bench.jobs [AGENT ...] [--before PROGRAM] [--rounds 10] [--jobs 1,2,4,8,16,32] [--at-jobs 1]
                         [--kept FOLDER] [--limit-s 3600]

AGENT is one that `assay certify` takes: pulsar-python and reference unless named; a Java agent of one's own by the path
of its agent.toml. `--before` is the `assay` program of an environment in which an earlier checkout is installed: it and
this one certify in turn, `--rounds` times, and the ratio of the medians is printed, and whether all verdicts were the
same. Then each number of `--jobs` is certified with `--at-jobs` times, in turn with the automatic choice. A number that
has taken twice what the automatic choice took is not the best one: it is stopped there, and its time is a lower bound.

Goals: this checkout takes at most 0.67 of the earlier one, with the same verdicts in all rounds; the automatic choice
at most 1.1 times what the best number takes. What is missed is named, and the status is 1. Figures mean something on an
idle machine only. Runs are kept in FOLDER, so that what was interrupted goes on where it stopped; none is begun when
`--limit-s` seconds are over.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
from bench.repeated import ASSAY, EXPECTATIONS, again

from assay_fixtures.verified import exit_code
from assay_reports.compare import compare
from assay_reports.expectations import read_expectations
from assay_reports.verdicts import Verdicts, read_verdicts

AGENTS: Final = ("pulsar-python", "reference")
JOBS: Final = (1, 2, 4, 8, 16, 32)
MOST_OF_BEFORE: Final = 0.67
MOST_OF_BEST: Final = 1.1
AUTOMATIC: Final = "automatic"
BEFORE: Final = "before"


TOO_LONG: Final = 2.0
"""Times what the automatic choice took."""
STOPPED: Final = -1


class Took(msgspec.Struct, frozen=True):
    """One certification: wall time, CPU of all its processes, and how it ended (STOPPED: it took too long)."""

    wall_s: float
    cpu_s: float
    status: int


@dataclass(frozen=True, slots=True)
class Run:
    folder: Path
    took: Took

    @property
    def verdicts(self) -> Verdicts | None:
        file = next(self.folder.glob("*/verdicts.json"), None)
        return None if file is None else read_verdicts(file.read_bytes(), str(file))


class OverError(Exception):
    """The time of the whole measurement is over."""


class Measuring:
    """Runs what is not kept yet, as long as there is time."""

    def __init__(self, kept: Path, limit_s: float) -> None:
        self._kept = kept
        self._ends_s = time.monotonic() + limit_s

    def run(
        self,
        agent: str,
        way: str,
        number: int,
        program: Sequence[str],
        jobs: int | None = None,
        most_s: float | None = None,
    ) -> Run:
        """Run the agent once; `way` names what is compared.

        A run that takes `most_s` is stopped. Raise OverError when the time is over.
        """
        folder = self._kept / Path(agent).parent.name.replace(".", "") / Path(agent).name / f"{way}-{number}"
        note = folder / "took.json"
        if not note.exists():
            if time.monotonic() > self._ends_s:
                raise OverError
            fixed = [] if jobs is None else ["--jobs", str(jobs)]
            took = _timed([*program, "certify", agent, "--run-dir", str(folder), *fixed], most_s)
            folder.mkdir(parents=True, exist_ok=True)
            note.write_bytes(msgspec.json.encode(took))
            print(line(agent, way, number, took), flush=True)
        return Run(folder, msgspec.json.decode(note.read_bytes(), type=Took))


HEAD: Final = "agent                     way          run  wall s   CPU s exit"


def line(agent: str, way: str, number: int, took: Took) -> str:
    return f"{agent[-24:]:25} {way:12} {number:3} {took.wall_s:7.1f} {took.cpu_s:7.1f} {took.status:4}"


def _timed(command: Sequence[str], most_s: float | None) -> Took:
    before, began_s = _children_s(), time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        status = process.wait(most_s)
    except subprocess.TimeoutExpired:
        process.terminate()  # it ends its agents first, so that the next run has the machine for itself
        process.wait()
        status = STOPPED
    return Took(time.monotonic() - began_s, _children_s() - before, status)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def otherwise(first: Run, other: Run) -> list[str]:
    """Return in what another run differs from the first, without what was left open or is listed to come and go."""
    before, after = first.verdicts, other.verdicts
    if before is None or after is None:
        return [f"{run.folder}: no verdicts (exit {run.took.status})" for run in (first, other) if run.verdicts is None]
    listed = next(first.folder.glob(f"*/{EXPECTATIONS}"), None)
    entries = read_expectations(listed).entries if listed is not None else ()
    # Another checkout may have other Cases: only verdicts of those that both have are compared.
    return [str(one) for one in again(True, compare(before, after), entries).otherwise]


def ratio(earlier: Sequence[float], later: Sequence[float]) -> float:
    """Return the ratio of the medians."""
    return median(later) / median(earlier)


def slower_than_before(agent: str, earlier: Sequence[float], later: Sequence[float]) -> Iterator[str]:
    if earlier and later and (found := ratio(earlier, later)) > MOST_OF_BEFORE:
        yield f"{agent}: takes {found:.2f} of what it took before, expected at most {MOST_OF_BEFORE}"


def slower_than_best(agent: str, walls_s: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield a complaint if the agent's automatic choice is slower than the best.

    `walls_s` has the seconds that each way took, one of them the automatic choice.
    """
    medians = {way: median(walls) for way, walls in walls_s.items() if walls}
    automatic_s = medians.pop(AUTOMATIC, None)
    if automatic_s is None or not medians:
        return
    best = min(medians, key=medians.__getitem__)
    if automatic_s > MOST_OF_BEST * medians[best]:
        yield (
            f"{agent}: the automatic choice takes {automatic_s:.1f} s, {automatic_s / medians[best]:.2f} times what "
            f"{best} takes, expected at most {MOST_OF_BEST}"
        )


def by_turns(measuring: Measuring, agent: str, before: str | None, rounds: int) -> Iterator[str]:
    """Run the earlier checkout and this one in turn; yield the missed goals."""
    if before is None:
        return
    earlier, later = [], []
    try:
        for number in range(1, rounds + 1):
            earlier.append(measuring.run(agent, BEFORE, number, (before,)))
            later.append(measuring.run(agent, "now", number, ASSAY))
    finally:
        walls = [[one.took.wall_s for one in runs] for runs in (earlier, later)]
        if all(walls):
            print(f"{agent}: {ratio(*walls):.2f} of the wall time before, in {len(walls[1])} rounds", flush=True)
    yield from slower_than_before(agent, *walls)
    for run in (*earlier[1:], *later):
        yield from (f"{agent}: {run.folder.name}: {said}" for said in otherwise(earlier[0], run))


def by_numbers(measuring: Measuring, agent: str, jobs: Sequence[int], times: int) -> Iterator[str]:
    """Run with each number of Cases side by side, `times` times, in turn with the automatic choice; yield missed
    goals."""
    if not times:
        return
    ways: dict[str, int | None] = {AUTOMATIC: None, **{f"jobs-{number}": number for number in jobs}}
    walls: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(1, times + 1):
        for way, fixed in ways.items():
            most_s = TOO_LONG * walls[AUTOMATIC][-1] if fixed is not None else None
            walls[way].append(measuring.run(agent, way, number, ASSAY, fixed, most_s).took.wall_s)
    for way, took in walls.items():
        print(f"{agent[-24:]:25} {way:12} median {median(took):7.1f} s", flush=True)
    yield from slower_than_best(agent, walls)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", default=AGENTS)
    parser.add_argument("--before")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--jobs", type=lambda text: tuple(map(int, text.split(","))), default=JOBS)
    parser.add_argument("--at-jobs", type=int, default=1)
    parser.add_argument("--kept", type=Path, default=Path("runs", "jobs"))
    parser.add_argument("--limit-s", type=float, default=3_600.0)
    said = parser.parse_args()
    measuring, short = Measuring(said.kept, said.limit_s), list[str]()
    print(HEAD, flush=True)
    try:
        for agent in said.agents:
            short += by_turns(measuring, agent, said.before, said.rounds)
        for agent in said.agents:
            short += by_numbers(measuring, agent, said.jobs, said.at_jobs)
    except OverError:
        short.append(f"not all was measured: {said.limit_s:g} s were over; the same command goes on where it stopped")
    print("\n".join(f"missed: {what}" for what in short) or "nothing was missed")
    return exit_code(len(said.agents), len(short), "agents")


if __name__ == "__main__":
    sys.exit(main())
