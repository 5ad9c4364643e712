"""Is a failure found beside a listed one that breaks the same rule in the same way? Pairs of mutants, one listed.

    python -m bench.beside_listed [--seed 1] [--pairs 20] [--explorations 10] [--cases 200]

Pairs of mutants of equal requirement and finding code are drawn by the seed, which is printed. The first of each is
listed, with its Case reduced as the trigger; the other one is to be found: by an exploration of a client that has it
alone, and by one of a client that has both, of the same seed. What counts as found is a cause of this requirement and
code whose reduced Case the other one breaks by itself, and the listed one does not. All is played in virtual time, in
the areas in which kills_by_exploration.json says that an exploration came to these mutants.

The goal is that the other one is found at least nine times beside the listed one where it is ten times alone.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
from tests.exam import kill_matrix
from tests.exam.test_both_ways import PACK

from assay_conformance.machines import areas, plan
from assay_conformance.machines.areas import Area
from assay_conformance.machines.causes import Breach
from assay_conformance.machines.coverage import coverage
from assay_conformance.machines.steering import Steering
from assay_conformance.model.case import Case
from assay_conformance.model.needs import needs
from assay_conformance.model.requirement import RequirementId, Side
from assay_conformance.model.schema import CURRENT, FileKind
from assay_conformance.pulsar.mutants import mutants
from assay_fixtures.brokers.embedded import EmbeddedSite
from assay_fixtures.exploration.campaign import reachable, written
from assay_fixtures.exploration.exploring import ExplorationOptions, Exploring
from assay_fixtures.exploration.known import Known
from assay_fixtures.exploration.storage import Keeper
from assay_fixtures.reference.probe import FACTS, ReferenceTrial, in_memory
from assay_fixtures.runner.explore import Probed, breaches_of, reduce
from assay_fixtures.runner.folder import RunFolder
from assay_fixtures.verified import exit_code
from assay_reports import replay
from assay_reports.deviations import Deviation, Seen
from assay_reports.expectations import Expectations
from assay_reports.impact import Impact

GOAL: Final = 0.9
TRIED: Final = 6
"""Written Cases of a requirement in which a mutant is tried for its code."""

OFTEN: Final = 1500
"""Cases of all areas within which an exploration came to a mutant: rarer ones would not show alone either."""

MOST_S: Final = 45.0
"""Of one exploration; its number of Cases ends it sooner."""


@dataclass(frozen=True, slots=True)
class Pair:
    """`listed` shows `breach` in `case`; `other` shows it as well, somewhere."""

    breach: Breach
    listed: str
    other: str
    case: Case


@dataclass(slots=True)
class Found:
    """In how many explorations the other one was found."""

    alone: int = 0
    beside: int = 0
    ran: list[int] = field(default_factory=list)


# --- the pairs --------------------------------------------------------------------------------------------------------


def pairs(numbers: random.Random) -> Iterator[Pair]:
    """Yield one pair of each requirement that has any, of mutants that an exploration has found, in random order."""
    known = kill_matrix.found().mutants
    by_requirement: defaultdict[RequirementId, list[str]] = defaultdict(list)
    for name, mutant in mutants().items():
        if mutant.side is Side.CLIENT and name in known and known[name].case and known[name].explored <= OFTEN:
            by_requirement[mutant.breaks[0]].append(name)
    several = [(requirement, names) for requirement, names in sorted(by_requirement.items()) if len(names) > 1]
    for requirement, names in numbers.sample(several, len(several)):
        shown = [(name, breach, case) for name in names for breach, case in shows(name, requirement).items()]
        of_it = [
            Pair(breach, listed, other, case)
            for listed, breach, case in shown
            for other, of, _ in shown
            if of == breach and other != listed
        ]
        if of_it:
            yield numbers.choice(of_it)


@cache
def shows(mutant: str, requirement: RequirementId) -> dict[Breach, Case]:
    """Return how a mutant breaks its requirement in directed Cases, each breach with the first Case that shows it."""
    found: dict[Breach, Case] = {}
    cases = [case for case in PACK.cases if requirement in case.requirements and in_memory(case)]
    for case in cases[:TRIED]:
        for breach in sorted(broken((mutant,), case)):
            if breach[0] == requirement:
                found.setdefault(breach, case)
    return found


def broken(names: Sequence[str], case: Case) -> frozenset[Breach]:
    """Return what a client with these mutants breaks in one run."""
    return breaches_of(ReferenceTrial(mutants=frozenset(names)).in_virtual_time(case).judgements)


def listing(pair: Pair, folder: RunFolder) -> Expectations:
    """Return a list that has the first mutant's breach, by its reduced Case."""
    reduced = asyncio.run(reduce(pair.case, ReferenceTrial(mutants=frozenset({pair.listed})).probe, [pair.breach]))
    requirement, code = RequirementId(pair.breach[0]), pair.breach[1]
    broke = replay.Breach(requirement=requirement, clause="", code=code, sentence="")
    folder.write(
        "trigger.json",
        replay.render(
            replay.Replay(
                schema=str(CURRENT[FileKind.REPLAY]),
                file=FileKind.REPLAY,
                suite="0",
                catalogue="0",
                agent=FACTS.agent,
                client="",
                version="0",
                broker="",
                case=reduced,
                breaches=(broke,),
            )
        ),
    )
    seen = Seen(requirement=requirement, code=code, cases=(pair.case.id,), trigger="trigger.json")
    deviation = Deviation(
        id=pair.listed, title=pair.listed, reason=pair.listed, versions="*", impact=Impact.LOST, seen=(seen,)
    )
    return Expectations(agent=FACTS.agent, tested="*", deviations=(deviation,))


# --- the explorations -------------------------------------------------------------------------------------------------


def areas_of(pair: Pair) -> tuple[Area, ...]:
    """Return the areas in which an exploration found either mutant."""
    known = kill_matrix.found().mutants
    drawn = {known[name].case.removeprefix("generated/").split("-")[0] for name in (pair.listed, pair.other)}
    return tuple(area for area in Area if area.value in drawn)


def explored(pair: Pair, names: Sequence[str], known: Known, folder: RunFolder, seed: int, cases: int) -> bool:
    """Return whether an exploration of a client with these mutants finds the pair's other mutant."""
    site, trial = EmbeddedSite(), ReferenceTrial(mutants=frozenset(names))

    async def draw(area: Area, count: int, seed: int) -> list[Case]:
        drawn = plan.draw(areas.lives(area, FACTS.capabilities), count, seed)
        return [case for case in drawn if in_memory(case) and not any(map(site.lacks, needs(case)))]

    async def probe(case: Case) -> Probed:
        tried = await asyncio.to_thread(trial.in_virtual_time, case)
        return replace(tried.probed, covered=coverage(tried.events, case))

    async def until_found() -> None:
        running = asyncio.create_task(exploring.run())
        while not running.done() and not await asyncio.to_thread(is_found):
            await asyncio.wait([running], timeout=0.2)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    def is_found() -> bool:
        return any(_is_the_others(one.case, pair) for one in exploring.causes.found if one.breach == pair.breach)

    keeper = Keeper(folder, 1 << 28)
    exploring = Exploring(
        ExplorationOptions(areas=areas_of(pair), for_s=MOST_S, cases=cases, seed=seed, jobs=4, fixed=True),
        draw,
        probe,
        keeper,
        Steering(reachable(PACK.catalogue, FACTS), written(PACK)),
        known,
    )
    try:
        asyncio.run(until_found())
    finally:
        keeper.close()
    return is_found()


@cache
def _reduced_shows(text: str, name: str, breach: Breach) -> bool:
    return breach in broken((name,), msgspec.json.decode(text, type=Case))


def _is_the_others(case: Case, pair: Pair) -> bool:
    text = msgspec.json.encode(case).decode()
    return _reduced_shows(text, pair.other, pair.breach) and not _reduced_shows(text, pair.listed, pair.breach)


def tried(pair: Pair, seed: int, explorations: int, cases: int) -> Found:
    """Run each exploration twice with one seed: with the other mutant alone, and with both, the first of them
    listed."""
    found = Found()
    with tempfile.TemporaryDirectory() as place:
        listed = listing(pair, RunFolder.create(Path(place, "list")))
        for number in range(explorations):
            known = Known(listed, "0", Path(place, "list"))
            alone, both = (RunFolder.create(Path(place, f"{name}-{number}")) for name in ("alone", "both"))
            nothing = Known(Expectations(agent=FACTS.agent, tested="*"), "0", Path(place))
            if explored(pair, (pair.other,), nothing, alone, seed + number, cases):
                found.alone += 1
                found.beside += explored(pair, (pair.listed, pair.other), known, both, seed + number, cases)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--explorations", type=int, default=10)
    parser.add_argument("--cases", type=int, default=200)
    said = parser.parse_args()
    print(f"pairs and explorations by seed {said.seed}", flush=True)
    verified = missed = 0
    for pair in islice(pairs(random.Random(said.seed)), said.pairs):
        found = tried(pair, said.seed, said.explorations, said.cases)
        verified += found.alone > 0
        missed += found.beside < GOAL * found.alone
        print(
            f"{pair.breach[0]}: {pair.breach[1]}; {pair.listed} is listed: {pair.other} found in {found.alone} of "
            f"{said.explorations} explorations alone, in {found.beside} of these beside it",
            flush=True,
        )
    return exit_code(verified, missed, "pairs of which the other one was found alone")


if __name__ == "__main__":
    sys.exit(main())
