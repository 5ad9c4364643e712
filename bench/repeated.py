"""Does a run that is made again say the same? One certification again and again, and what came out otherwise.

    python -m bench.repeated AGENT [--runs 20] [--busy] [--select WORD]... [--kept FOLDER]

Every run is to have the plan of the first, byte for byte, and its verdicts, Case by Case, as `assay compare` shows
them. What a busy machine leaves inconclusive is counted, but not as a difference, nor is a failure that the client's
list says may or may not show: `occurs` is `sometimes`, or the Case is a permutation of the listed one, as where four
threads send and it is not known which messages share a batch. Any other difference in a plan, a verdict, a finding code
or an exit code ends with status 1. With `--busy` a process that computes keeps one core from every run but the first. A
busy client may behave differently in a Case, and what is timed there may stay open beside what was found: then no
failure that is listed for its requirement at all counts as a difference. Runs are kept in FOLDER, so that what was
interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.hardships import COMPUTES

from assay_conformance.model.verdict import Verdict
from assay_fixtures.verified import exit_code
from assay_reports.compare import CellDifference, Comparison, compare
from assay_reports.expectations import Expectation, read_expectations
from assay_reports.outcome import EXIT_CODE, Cause
from assay_reports.verdicts import Verdicts, read_verdicts

ASSAY: Final = (sys.executable, "-c", "from assay_fixtures.cli import main; main()")
EXPECTATIONS: Final = "expectations.toml"
"""A run's copy of what is listed for its client."""


@dataclass(frozen=True, slots=True)
class Again:
    """What another run said otherwise, and what it, or the first, left open."""

    same_plan: bool
    otherwise: tuple[CellDifference, ...]
    listed: tuple[CellDifference, ...]
    """What came or went as its client's list says."""
    left_open: tuple[CellDifference, ...]
    not_both: tuple[str, ...]
    """Cases that only one of them judged."""
    other_exit: str = ""
    """How `assay certify` ended otherwise than at first; not where all there is to it is what was left open."""

    @property
    def is_same(self) -> bool:
        return self.same_plan and not (self.otherwise or self.not_both or self.other_exit)


def again(
    same_plan: bool,
    told: Comparison,
    entries: Sequence[Expectation] = (),
    *,
    busy: bool = False,
    exits: tuple[int, int] = (0, 0),
) -> Again:
    """Compare two runs.

    `entries` are the failures that are listed for the client; `busy` says that one of the runs had a core less; `exits`
    has the exit codes of both.
    """
    left_open = tuple(one for one in told.cells if Verdict.INCONCLUSIVE in (one.before, one.after))
    listed = tuple(one for one in told.cells if one not in left_open and _comes_and_goes(one, entries, busy))
    otherwise = tuple(one for one in told.cells if one not in (*left_open, *listed))
    before, after = exits
    ended_alike = before == after or (bool(left_open) and {*exits} == {0, EXIT_CODE[Cause.INCONCLUSIVE]})
    other_exit = "" if ended_alike else f"exit code {before} -> {after}"
    return Again(same_plan, otherwise, listed, left_open, (*told.only_before, *told.only_after), other_exit)


def _comes_and_goes(difference: CellDifference, entries: Sequence[Expectation], busy: bool) -> bool:
    """Return whether every code that only one run has is listed as one that may come and go in that Case.

    On a busy machine it is enough that the code is listed for the requirement.
    """
    differ = codes(difference.before) ^ codes(difference.after)
    known = {
        entry.code
        for entry in entries
        if entry.requirement == difference.requirement and (busy or entry.may_stay_away(difference.case))
    }
    return bool(differ) and differ <= known


def codes(told: str) -> set[str]:
    """Return the codes in brackets after a verdict."""
    return set(told.partition("(")[2].rstrip(")").split(", ")) - {""}


def made(agent: str, selected: list[str], runs: int, folder: Path, busy: bool) -> Iterator[Path]:
    """Yield the folders of so many runs that came to their end, beginning with those that are there already."""
    found = _ended(folder)
    yield from found[:runs]
    for number in range(len(found), runs):
        print(f"run {number + 1} of {runs}", file=sys.stderr, flush=True)
        with _one_core_less(busy and number > 0):
            done = subprocess.run(
                [*ASSAY, "certify", agent, "--run-dir", str(folder), *selected],
                capture_output=True,
                text=True,
                check=False,
            )
        ended = _ended(folder)
        if len(ended) == number:
            sys.exit(f"bench.repeated: run {number + 1} came to no verdicts (exit {done.returncode}): {done.stderr}")
        yield ended[-1]


def _ended(folder: Path) -> list[Path]:
    return [path.parent for path in sorted(folder.glob("*/verdicts.json"))]


@contextmanager
def _one_core_less(busy: bool) -> Iterator[None]:
    computing = subprocess.Popen(COMPUTES) if busy else None
    try:
        yield
    finally:
        if computing is not None:
            computing.kill()
            computing.wait()


def _said(run: Path) -> Verdicts:
    file = run / "verdicts.json"
    return read_verdicts(file.read_bytes(), str(file))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--select", action="append", default=[])
    parser.add_argument("--kept", type=Path, default=Path("runs", "repeated"))
    options = parser.parse_args()
    selected = [word for name in options.select for word in ("--select", name)]
    first, *others = made(options.agent, selected, options.runs, options.kept, options.busy)
    plan, said = (first / "plan.jsonl").read_bytes(), _said(first)
    entries = read_expectations(first / EXPECTATIONS).entries if (first / EXPECTATIONS).exists() else ()
    compared = {
        run: again(
            (run / "plan.jsonl").read_bytes() == plan,
            compare(said, other := _said(run)),
            entries,
            busy=options.busy,
            exits=(said.exit_code, other.exit_code),
        )
        for run in others
    }
    for run, one in compared.items():
        if not one.same_plan:
            print(f"{run}: its plan is not that of {first}")
        for difference in (*one.otherwise, *one.left_open, *one.not_both, *filter(None, [one.other_exit])):
            print(f"{run}: {difference}")
        for difference in one.listed:
            print(f"{run}: {difference}, as is listed")
    same = sum(one.is_same for one in compared.values())
    left_open = sum(len(one.left_open) for one in compared.values())
    judged = len(said.cells) * len(compared)
    print(f"{same} of {len(compared)} runs said what the first said; {left_open} of {judged} judgements left open")
    return exit_code(len(compared), len(compared) - same, "runs to compare with the first")


if __name__ == "__main__":
    sys.exit(main())
