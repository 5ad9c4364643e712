"""How fast is a counterexample small, and is it as small as can be? Planted bugs, explored until they are found.

    python -m bench.reduction [--mutants 20] [--seed 1] [--for 120] [--kept FOLDER]

`assay explore` is run on the reference client with one rule broken after the other, until a finding of that rule's
requirement is confirmed and reduced. Printed are the seconds from the first confirmation to the last run of the reduced
Case, without those in which it waited for another failure's reduction; the steps and faults of the reduced Case; and
whether it is 1-minimal: without any one of them it passes. That is tried independently, one removal after the other, in
virtual time. A Case that needs real time to fail is tried over sockets, and a Case that needs a separate client process
is replayed, where a breach counts if two of three runs show it. The status is 1 where a Case was not shown to be
minimal, or a mutant was not found. Times are only printed, since they depend on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
from tests.end_to_end.running import command_line, mutant

from assay_conformance.machines.areas import Area
from assay_conformance.machines.causes import Breach
from assay_conformance.model.case import Case
from assay_conformance.pulsar.mutants import mutants
from assay_fixtures.cli.replay import EXIT_CODE
from assay_fixtures.reference.probe import ReferenceTrial
from assay_fixtures.runner.explore import Confirmation
from assay_fixtures.runner.load import LoadSampler
from assay_reports.exploration import Exploration, Found, read_exploration
from assay_reports.replay import Answer, Replay, read_replay, render
from assay_reports.text import counted

GOAL_S: Final = 20.0
LOOK_EVERY_S: Final = 0.2
LAST_WORDS_S: Final = 60.0

PLANTED: Final[Mapping[str, Area]] = {
    "fails-pending-on-loss": Area.RESEND,
    "completes-out-of-order": Area.ORDERING,
    "other-uuid": Area.CHUNKING,
    "acks-one-by-one": Area.CONSUMING,
    "nacks-one-by-one": Area.NACK,
    "fails-duplicate-receipt": Area.DEDUP,
    "fewer-permits-after-reconnect": Area.CONSUMING,
    "epoch-never-increases": Area.PRODUCER,
    "send-timeout-late": Area.MIXED,
    "reverses-batch": Area.ORDERING,
    "resends-receipted": Area.RESEND,
    "delivers-fragments": Area.CHUNKING,
    "close-drops-acks": Area.ACK,
    "nack-late": Area.NACK,
    "reconnects-without-name": Area.DEDUP,
    "seek-keeps-prefetched": Area.CONSUMING,
    "claims-assigned-name": Area.PRODUCER,
    "resend-changes-metadata": Area.RESEND,
    "skips-sequence-id": Area.ORDERING,
    "ignores-close-producer": Area.TOPICS,
}
"""Mutant -> the area in which it is found soon: what is measured is how a Case becomes small, not how it is found."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """What became of one mutant. `minimal` is None where the Case did not fail when it was run again. `left`: how many
    more causes of the requirement are not small: the end of the exploration broke off their reduction, or the reduced
    Case did not fail with a separate agent."""

    found: Found
    minimal: bool | None
    left: int = 0

    def __str__(self) -> str:
        found, words = self.found, {True: "1-minimal", False: "NOT 1-MINIMAL", None: "did not fail anew"}
        end = "" if found.minimal else ", not reduced to the end"
        beside = f" ({self.left} beside it not small)" if self.left else ""
        return (
            f"{found.requirement}: {found.code}, {found.took_s:.1f} s, {counted(found.steps, 'step')} and "
            f"{counted(found.faults, 'fault')}, {words[self.minimal]}{end}{beside}"
        )


# --- found and reduced ------------------------------------------------------------------------------------------------


def explored(planted: str, area: Area, seed: int, for_s: float, folder: Path) -> tuple[Exploration, Path]:
    """Explore until there is a cause of the mutant's requirement; return it with the run's folder."""
    agent, runs = mutant(folder, planted), folder / "runs"
    words = ("--area", area.value, "--seed", str(seed), "--for", f"{for_s:g}s", "--run-dir", str(runs))
    with subprocess.Popen(
        command_line("explore", str(agent), *words),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as exploring:
        while exploring.returncode is None and not _has_found(runs, planted):
            with suppress(subprocess.TimeoutExpired):
                exploring.wait(LOOK_EVERY_S)
        exploring.send_signal(signal.SIGINT)
        _, said = exploring.communicate(timeout=LAST_WORDS_S)
    told = sorted(runs.glob("*/exploration.json"))
    if not told:
        sys.exit(f"bench.reduction: {planted} was not explored (exit {exploring.returncode}): {said}")
    return read_exploration(told[-1].read_bytes(), str(told[-1])), told[-1].parent


def _requirements(planted: str) -> frozenset[str]:
    """Return the requirements that a mutant breaks."""
    return frozenset(mutants()[planted].breaks)


def _has_found(runs: Path, planted: str) -> bool:
    """Return whether a reduced Case has a history: it is named after the requirement, and written last."""
    return any(any(runs.glob(f"*/history/generated/{one}-*")) for one in _requirements(planted))


def first_of(causes: Sequence[Found], requirements: Collection[str]) -> Found | None:
    """Return the first cause of one of these requirements that became small, or else the first of them.

    If there is neither, return the first in whose Case one of them breaks as well. The exploration ends with the first
    small one, while others are being reduced.
    """
    named = [cause for cause in causes if cause.requirement in requirements]
    small = (cause for cause in named if cause.minimal)
    beside = (cause for cause in causes if any(word.partition(":")[0] in requirements for word in cause.also))
    return next(chain(small, named, beside), None)


# --- is it minimal ----------------------------------------------------------------------------------------------------


def smaller(case: Case) -> Iterator[Case]:
    """Yield the Case without each of its steps, and without each of its faults.

    Whether a fault acts on what is left does not matter: a Case that fails without it has one thing too many.
    """
    may = tuple(msgspec.structs.replace(fault, optional=True) for fault in case.faults)
    for index in range(len(case.steps)):
        yield msgspec.structs.replace(case, steps=case.steps[:index] + case.steps[index + 1 :], faults=may)
    for index in range(len(may)):
        yield msgspec.structs.replace(case, faults=may[:index] + may[index + 1 :])


def is_minimal(case: Case, shows: Sequence[Callable[[Case], bool]]) -> bool | None:
    """Return whether a Case is minimal, by the first of these ways in which it fails, or None where it fails in
    none."""
    for fails in shows:
        if fails(case):
            return not any(map(fails, smaller(case)))
    return None


def _ways(planted: str, breach: Breach, replay: Replay, folder: Path) -> tuple[Callable[[Case], bool], ...]:
    """Return ways to run a Case with this client, whose manifest is in the folder, and see whether it fails so."""
    trial, wanted = ReferenceTrial(mutants=frozenset({planted})), Confirmation()
    file = folder / "anew.json"
    alike = tuple(one for one in replay.breaches if (one.requirement, one.code) == breach)
    words = ("replay", str(file), "--agent", str(folder / "agent.toml"), "--run-dir", str(folder / "anew"))

    def in_virtual_time(case: Case) -> bool:
        return breach in trial.in_virtual_time(case).probed.breaches

    def over_sockets(case: Case) -> bool:
        return sum(asyncio.run(_breaks(trial, case, breach)) for _ in range(wanted.tries)) >= wanted.needed

    def as_a_process(case: Case) -> bool:
        file.write_bytes(render(msgspec.structs.replace(replay, case=case, breaches=alike)))
        said = [subprocess.run(command_line(*words), capture_output=True, check=False) for _ in range(wanted.tries)]
        return sum(one.returncode == EXIT_CODE[Answer.STILL_FAILS] for one in said) >= wanted.needed

    return in_virtual_time, over_sockets, as_a_process


async def _breaks(trial: ReferenceTrial, case: Case, breach: Breach) -> bool:
    sampler = LoadSampler()
    await sampler.start()
    try:
        return breach in (await replace(trial, sampler=sampler).over_sockets(case)).probed.breaches
    finally:
        await sampler.stop()


# --- the figures ------------------------------------------------------------------------------------------------------


def reduced(planted: str, area: Area, seed: int, for_s: float, folder: Path) -> Reduced | None:
    told, run = explored(planted, area, seed, for_s, folder)
    found = first_of(told.found, _requirements(planted))
    if found is None:
        return None
    replay = read_replay((run / found.replay).read_bytes(), found.replay)
    ways = _ways(planted, (found.requirement, found.code), replay, folder)
    left = sum(one.requirement == found.requirement and not one.minimal for one in told.found if one is not found)
    return Reduced(found, is_minimal(replay.case, ways), left)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=len(PLANTED))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--for", dest="for_s", type=float, default=120, help="seconds to find each, at most")
    parser.add_argument("--kept", type=Path, default=Path("runs", "reduction"))
    said = parser.parse_args()
    # A shell starts what it puts in the background deaf to SIGINT, and so would be the explorations that this one ends.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    asked = dict(islice(PLANTED.items(), said.mutants))
    came: list[Reduced] = []
    for planted, area in asked.items():
        one = reduced(planted, area, said.seed, said.for_s, said.kept / planted)
        came += [one] if one else []
        print(f"{planted}: {one or 'was not found'}", flush=True)
    if not came:
        return 1
    took = [one.found.took_s for one in came]
    soon, minimal = sum(one < GOAL_S for one in took), sum(one.minimal is True for one in came)
    print(
        f"{len(came)} of {len(asked)} found; {median(took):.1f} s to reduce one (median), {max(took):.1f} at most, "
        f"{soon} under {GOAL_S:g} s; {minimal} 1-minimal\n"
        f"{os.getloadavg()[1]:.1f} at work on {os.cpu_count()} cores, over the last five minutes"
    )
    return int(len(came) < len(asked) or minimal < len(came))


if __name__ == "__main__":
    sys.exit(main())
