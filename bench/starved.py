"""Is a client ever blamed for a slow machine? Certifications under hardships, compared with one on an idle machine.

    python -m bench.starved [AGENT ...] [--hardship WORD]... [--whole 2] [--timed 10] [--mutants 30] [--seed 1]
                            [--kept FOLDER] [--short]

An agent (pulsar-python and reference unless named) is certified once without a hardship, and then under each: beside
two busy loops; with half a core for everything (a control group where one can be made, stops of the whole run else);
and with stops of two seconds at random of the runner, of the runner and its agents together, and of one agent alone.
`--whole` certifications are of all Cases, `--timed` of the chapters with time bounds. Then mutants of the reference
client that break a time bound run their Cases, `--mutants` of them, under the same hardships.

A verdict that differs from the idle run's is wrong, unless it is `inconclusive`, a pass where the run leaves open
whether the listed failure would have shown, or a failure that is listed for the client as one that comes and goes. The
same verdict for other reasons is right where the new ones are listed for that Case. Of the Cases at most 2 % may be
inconclusive beside the loops, and 10 % under the quota; a run is to end with 0 or 3; no mutant may pass. Whatever is
missed is named, and the status is 1.

Runs are kept in FOLDER, so that what was interrupted goes on where it stopped. `--short` is one certification of the
chapters with time bounds under each hardship, and three mutants: less than fifteen minutes for one agent on two cores.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from bench.hardships import Hardship, suffer
from bench.late_mutants import LATE, caught_in, manifest_of, passed
from bench.repeated import ASSAY, EXPECTATIONS, Again, again, codes
from tests.exam import kill_matrix

from assay_conformance.model.verdict import Verdict
from assay_fixtures.agents import manifest
from assay_fixtures.agents.nursery import BIRTHS
from assay_fixtures.verified import exit_code
from assay_reports.compare import CellDifference, compare
from assay_reports.expectation_matching import EntryState
from assay_reports.expectations import Expectation, read_expectations
from assay_reports.outcome import EXIT_CODE, Cause
from assay_reports.verdicts import Verdicts, read_verdicts

AGENTS: Final = ("pulsar-python", "reference")
CHAPTERS: Final = ("ack", "batching", "nack", "robustness", "throttling", "topics")
"""Chapters whose Cases have the tightest time bounds, and all kinds of them."""
LIMIT_S: Final = 900.0
"""The longest a certification may take: eight times what it takes with an idle core."""
GOALS: Final = {Hardship.LOOPS: 0.02, Hardship.QUOTA: 0.10}
"""Share of Cases that may be inconclusive."""
GOOD_ENDS: Final = (0, EXIT_CODE[Cause.INCONCLUSIVE])


class Kept(msgspec.Struct, frozen=True):
    """What stands beside a run's folder. `stops`: how often it was held up, by a stop or by its quota."""

    status: int
    how: str
    stops: int
    wall_s: float


@dataclass(frozen=True, slots=True)
class Run:
    folder: Path
    kept: Kept

    @property
    def verdicts(self) -> Verdicts | None:
        """None of a run that came to none."""
        file = self.folder / "verdicts.json"
        return read_verdicts(file.read_bytes(), str(file)) if file.is_file() else None


@dataclass(frozen=True, slots=True)
class Compared:
    """What a run under a hardship came to, compared with the one without."""

    status: int
    cases: int
    inconclusive: int
    wrong: tuple[str, ...]

    @property
    def share(self) -> float:
        return self.inconclusive / (self.cases or 1)


def compared_with(
    idle: Verdicts, other: Verdicts | None, status: int, compared: Again | None, entries: Sequence[Expectation] = ()
) -> Compared:
    """Compare a run with an idle one.

    `compared` is the comparison of both, where both have verdicts; `entries` are the failures that are listed for the
    client.
    """
    if other is None or compared is None:
        return Compared(status, len({cell.case for cell in idle.cells}), 0, (f"no verdicts: exit {status}",))
    left_open = {one for one in compared.otherwise if is_open(one, other)}
    wrong = (one for one in compared.otherwise if one not in left_open and not is_listed(one, entries))
    inconclusive = {cell.case for cell in other.cells if cell.verdict is Verdict.INCONCLUSIVE}
    return Compared(
        status,
        len({cell.case for cell in other.cells}),
        len(inconclusive | {one.case for one in left_open}),
        (*map(str, wrong), *(f"{case}: only in one of both" for case in compared.not_both)),
    )


def is_open(difference: CellDifference, other: Verdicts) -> bool:
    """Return whether the run itself leaves open all that is missing: the machine was too late for it to show."""
    missing, more = codes(difference.before) - codes(difference.after), codes(difference.after)
    undecided = {
        entry.expectation.code
        for entry in other.expectations
        if entry.state is EntryState.UNDECIDED
        and entry.expectation.requirement == difference.requirement
        and entry.expectation.is_about(difference.case)
    }
    return not more and bool(missing) and missing <= undecided


def is_listed(difference: CellDifference, entries: Sequence[Expectation]) -> bool:
    """Return whether the verdict is the same, for fewer reasons or for listed ones.

    What could not be judged on a late machine stands beside what was found all the same.
    """
    before, after = difference.before.partition(" (")[0], difference.after.partition(" (")[0]
    found = codes(difference.after)
    listed = {one.code for one in entries if one.requirement == difference.requirement and one.excuses(difference.case)}
    return before == after and bool(found) and found - codes(difference.before) <= listed


def missed(hardship: Hardship, runs: Sequence[Compared]) -> Iterator[str]:
    """Yield goals that these runs under one hardship do not reach."""
    for number, run in enumerate(runs, 1):
        yield from (f"{hardship} {number}: {wrong}" for wrong in run.wrong)
        if run.status not in GOOD_ENDS:
            yield f"{hardship} {number}: ended with {run.status}, expected one of {GOOD_ENDS}"
    cases = sum(run.cases for run in runs)
    share = sum(run.inconclusive for run in runs) / (cases or 1)
    if hardship in GOALS and share > GOALS[hardship]:
        yield f"{hardship}: {share:.1%} of {cases} Cases inconclusive, expected at most {GOALS[hardship]:.0%}"


def agent_knower(agent: str) -> Callable[[str], bool]:
    """Return a test whether a command line is of this agent, or of its nursery, which forked agents keep.

    The command line is recognised by its last word.
    """
    found = manifest.find(manifest.split_version(agent)[0])
    words = [command[-1] for command in (found.command, found.nursery) if command]
    lasts = tuple(word.replace("{here}", "").replace("{births}", BIRTHS.name) for word in words)
    return lambda line: line.rstrip().endswith(lasts)


def certified(agent: str, hardship: Hardship, words: Sequence[str], folder: Path, seed: int) -> Run:
    """Certify what these words select, or everything; return the stored run where there is one."""
    note = folder / "suffered.json"
    if not note.exists():
        shutil.rmtree(folder, ignore_errors=True)  # What an interrupted run has left.
        selected = [word for name in words for word in ("--select", name)]
        began_s = time.monotonic()
        suffered = suffer(
            hardship,
            [*ASSAY, "certify", agent, "--run-dir", str(folder), *selected],
            seed=seed,
            is_agent=agent_knower(agent),
            limit_s=LIMIT_S,
        )
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "printed.txt").write_text(suffered.printed, "utf-8")
        kept = Kept(suffered.status, suffered.how, suffered.stops, time.monotonic() - began_s)
        note.write_bytes(msgspec.json.encode(kept))
    (run,) = [path.parent for path in folder.glob("*/run.json")] or [folder]
    return Run(run, msgspec.json.decode(note.read_bytes(), type=Kept))


def beside(idle: Run, other: Run) -> Compared:
    """Compare `other` with the run without a hardship."""
    before, after = idle.verdicts, other.verdicts
    if before is None:
        sys.exit(f"bench.starved: the run without a hardship came to no verdicts: {idle.folder}")
    if after is None:
        return compared_with(before, None, other.kept.status, None)
    listed = idle.folder / EXPECTATIONS
    entries = read_expectations(listed).entries if listed.exists() else ()
    same_plan = (idle.folder / "plan.jsonl").read_bytes() == (other.folder / "plan.jsonl").read_bytes()
    return compared_with(before, after, other.kept.status, again(same_plan, compare(before, after), entries), entries)


HEAD: Final = "agent            hardship      of      run exit  wall s  held  Cases inconclusive wrong  held up by"


def line(agent: str, hardship: Hardship, kind: str, number: int, run: Run, one: Compared) -> str:
    return (
        f"{agent:16} {hardship:13} {kind:6} {number:4} {one.status:4} {run.kept.wall_s:7.0f} {run.kept.stops:5} "
        f"{one.cases:6} {one.inconclusive:4} {one.share:6.1%} {len(one.wrong):5}  {run.kept.how}"
    )


def measure(
    agents: Sequence[str], hardships: Sequence[Hardship], rounds: dict[str, int], kept: Path, seed: int
) -> list[str]:
    """Make the runs that are not stored yet, print a line for each, and return what was missed."""
    print(HEAD, flush=True)
    short: list[str] = []
    for agent in agents:
        for kind, words in (("whole", ()), ("timed", [f"chapter:{name}" for name in CHAPTERS])):
            if not rounds[kind]:
                continue
            place = kept / agent.replace("/", "_") / kind
            idle = certified(agent, Hardship.IDLE, words, place / "idle", seed)
            for hardship in hardships:
                runs: list[Compared] = []
                for number in range(1, rounds[kind] + 1):
                    run = certified(agent, hardship, words, place / f"{hardship}-{number}", seed + number)
                    runs.append(beside(idle, run))
                    print(line(agent, hardship, kind, number, run, runs[-1]), flush=True)
                    if hardship is not Hardship.LOOPS and not run.kept.stops:
                        short.append(f"{agent}, {kind}: {hardship} {number}: nothing was held up")
                short += [f"{agent}, {kind}: {what}" for what in missed(hardship, runs)]
    return short


def try_mutants(count: int, hardships: Sequence[Hardship], kept: Path, seed: int) -> list[str]:
    """Try each mutant in the Cases that catch it, under one hardship after the other; return those that passed."""
    known, short = kill_matrix.kept(), []
    for hardship in hardships:
        ended: Counter[str] = Counter()
        for one in LATE[:count]:
            caught, place = caught_in(known[one]), kept / "mutants" / one
            place.mkdir(parents=True, exist_ok=True)
            run = certified(manifest_of(one, place), hardship, [*caught], place / str(hardship), seed)
            verdicts = run.verdicts
            came_to = "nothing" if verdicts is None else "pass" if passed(caught, verdicts) else "no pass"
            ended[came_to] += 1
            if came_to != "no pass":
                short.append(f"mutant {one}, {hardship}: came to {came_to} (exit {run.kept.status})")
        print(f"mutants          {hardship:13} {dict(ended)}", flush=True)
    return short


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", default=AGENTS)
    every = [one for one in Hardship if one is not Hardship.IDLE]
    parser.add_argument("--hardship", action="append", type=Hardship, choices=every)
    parser.add_argument("--whole", type=int, default=2)
    parser.add_argument("--timed", type=int, default=10)
    parser.add_argument("--mutants", type=int, default=len(LATE))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kept", type=Path, default=Path("runs", "starved"))
    parser.add_argument("--short", action="store_true")
    said = parser.parse_args()
    rounds = {"whole": 0, "timed": 1} if said.short else {"whole": said.whole, "timed": said.timed}
    hardships = said.hardship or every
    short = measure(said.agents, hardships, rounds, said.kept, said.seed)
    short += try_mutants(min(3, said.mutants) if said.short else said.mutants, hardships, said.kept, said.seed)
    print("\n".join(f"missed: {what}" for what in short) or "nothing was missed")
    return exit_code(len(said.agents), len(short), "agents")


if __name__ == "__main__":
    sys.exit(main())
