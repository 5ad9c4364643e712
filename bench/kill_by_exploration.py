"""Would exploration have found the mutants by itself? One exploration in virtual time, and each mutant in its Cases.

    python -m bench.kill_by_exploration [--kept FILE] [--seed 1] [--cpu-s 240] [--jobs 2] [--only MUTANT] [--anew]

Cases are drawn and steered as `assay explore` does it, of all areas, and an honest client explores with them first: it
takes so much CPU time of this machine (two minutes of two cores unless given), drawing, judging and steering included.
That exploration is kept in FILE (runs/explored-SEED.jsonl unless given). Each mutant then plays, in the same order, the
Cases in which the honest client exercises the requirement that the mutant stands for: the other Cases could not have
shown it, and the mutant had no influence on what was drawn. A mutant is found by the first Case in which that
requirement fails, and which the honest client passes; what counts is how far the exploration had come by then, all its
Cases included. No directed Case is run.

The results of one seed are kept in fixtures/golden/kills_by_exploration.json as they come, and docs/mutants.md shows
them. `--only`, and mutants without a result, continue with that seed; `--anew` begins again with any seed. `--only`
with another seed prints the result and keeps nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import msgspec
from fuzz.lives import trial
from tests.exam import kill_matrix
from tests.exam.kill_matrix import Found, Search
from tests.exam.test_both_ways import PACK, failed_in, named

from assay_conformance.machines import areas, plan
from assay_conformance.machines.areas import Area
from assay_conformance.machines.coverage import coverage
from assay_conformance.machines.steering import Steering
from assay_conformance.model.case import Case
from assay_conformance.model.needs import needs
from assay_conformance.pulsar.mutants import mutants
from assay_fixtures.brokers.embedded import EmbeddedSite
from assay_fixtures.exploration.campaign import reachable, written
from assay_fixtures.exploration.scheduler import Scheduler
from assay_fixtures.reference.probe import FACTS, in_memory


class Explored(msgspec.Struct, frozen=True):
    """A Case of the honest exploration: what it exercised and kept, and what CPU time the exploration had taken after
    it."""

    case: Case
    kept: frozenset[str]
    cpu_s: float


# --- the exploration --------------------------------------------------------------------------------------------------


def explored(seed: int, cpu_s: float) -> Iterator[Explored]:
    """Yield an exploration by an honest client, until the time is over."""
    site = EmbeddedSite()

    async def draw(area: Area, count: int, seed: int) -> list[Case]:
        drawn = plan.draw(areas.lives(area, FACTS.capabilities), count, seed)
        return [case for case in drawn if in_memory(case) and not any(map(site.lacks, needs(case)))]

    steering = Steering(reachable(PACK.catalogue, FACTS), written(PACK))
    rounds = Scheduler(tuple(Area), seed, draw, steering)
    number, began_s = 0, time.process_time()
    while time.process_time() - began_s < cpu_s and (cases := asyncio.run(rounds.next())):
        for case in cases:
            tried = trial(number).in_virtual_time(case)
            exercised = frozenset(str(one.requirement) for one in tried.judgements if one.exercised)
            steering.saw(case, exercised, coverage(tried.events, case))
            number += 1
            yield Explored(case, exercised.difference(failed_in(tried)), round(time.process_time() - began_s, 2))


def kept(file: Path, seed: int, cpu_s: float) -> list[Explored]:
    """Return what is in the file, or else an exploration that is stored there."""
    if not file.exists():
        print(f"exploring with an honest client, for {cpu_s:.0f} s of CPU", file=sys.stderr, flush=True)
        lines = [msgspec.json.encode(one) for one in explored(seed, cpu_s)]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"\n".join(lines))
    return [msgspec.json.decode(line, type=Explored) for line in file.read_bytes().splitlines()]


# --- the mutants ------------------------------------------------------------------------------------------------------


def sought(mutant: str, exploration: Sequence[Explored], cpu_s: float) -> Found:
    """Search until the requirement that a mutant stands for fails, or the exploration's time is over."""
    requirement, reached = named(mutant), 0
    for number, one in enumerate(exploration):
        if one.cpu_s > cpu_s:
            break
        if requirement not in one.kept:
            continue
        reached += 1
        tried = replace(trial(number), mutants=frozenset({mutant})).in_virtual_time(one.case)
        if requirement in failed_in(tried):
            return Found(reached, number + 1, one.cpu_s, one.case.id)
    return Found(reached, sum(one.cpu_s <= cpu_s for one in exploration), min(cpu_s, exploration[-1].cpu_s))


def _all_sought(
    names: Sequence[str], exploration: Sequence[Explored], cpu_s: float, jobs: int
) -> Iterator[tuple[str, Found]]:
    # Forked processes have the exploration without a copy being sent.
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_Exploration.told, initargs=(exploration,)) as pool:
        yield from zip(names, pool.map(_Exploration.sought, names, [cpu_s] * len(names)), strict=True)


class _Exploration:
    """What a worker process has of it."""

    known: Sequence[Explored] = ()

    @classmethod
    def told(cls, exploration: Sequence[Explored]) -> None:
        cls.known = exploration

    @classmethod
    def sought(cls, mutant: str, cpu_s: float) -> Found:
        return sought(mutant, cls.known, cpu_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cpu-s", type=float, default=240)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--anew", action="store_true")
    said = parser.parse_args()
    if said.only and said.anew:
        parser.error("--anew begins a record of all mutants: leave it out, and --only says what came of these")
    before = kill_matrix.found()
    keeps = said.anew or (said.seed, said.cpu_s) == (before.seed, before.cpu_s)
    if not keeps and not said.only:
        sys.exit(f"seed {before.seed} and {before.cpu_s:.0f} s are kept: go on with these, or begin with --anew")
    exploration = kept(said.kept or Path("runs", f"explored-{said.seed}.jsonl"), said.seed, said.cpu_s)
    found = {} if said.anew else {name: one for name, one in before.mutants.items() if name in mutants()}
    wanted = [name for name in mutants() if (name in said.only if said.only else name not in found)]
    for mutant, one in _all_sought(wanted, exploration, said.cpu_s, said.jobs):
        found[mutant] = one
        print(f"{mutant}: {one}", file=sys.stderr, flush=True)
        if keeps:
            kill_matrix.keep_found(Search(said.seed, said.cpu_s, found))
    if keeps:
        kill_matrix.PAGE.write_text(kill_matrix.written(), "utf-8")


if __name__ == "__main__":
    main()
