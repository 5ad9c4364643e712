"""Is an honest client ever blamed? Lives of the reference client under faults, of all areas, judged by every check.

    python -m bench.no_false_alarm [--lives 10000] [--sockets] [--seed 1] [--kept FOLDER]

The lives of fuzz/lives.py, in virtual time, or over real sockets, several at once. They are drawn in rounds, each of a
seed of its own; what came of a round is kept in FOLDER, so that what was interrupted goes on where it stopped, and the
figures are of everything that is kept there. `--lives 0` only shows them. A life in which a client was blamed is named
with seed and number: the check is wrong, or the broker, or the reference client. Then the status is 1, and also where
the lives show too little: too few with a fault, a requirement too seldom exercised, too many judgements left open.

Lives rarely reach what needs a special topology. So in virtual time each round of lives is followed by one of directed
Cases with faults that they were not written for, of requirements that were exercised too seldom so far. When there are
enough lives, such rounds go on until no requirement is left. They are kept in FOLDER/directed, with each Case in which
a client was blamed. How often a requirement was exercised is counted in both together, all other figures in the lives
alone.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from fuzz.lives import ROUND, blamed, trial
from hypothesis import strategies as st

from assay_conformance.machines import areas, plan
from assay_conformance.machines.cases_with_faults import harmed
from assay_conformance.model.case import Case
from assay_conformance.model.event import Fired
from assay_conformance.model.needs import needs
from assay_conformance.model.verdict import Verdict
from assay_fixtures.agents.errors import AgentHung
from assay_fixtures.brokers.embedded import EmbeddedSite
from assay_fixtures.packs import Pack, load_packs
from assay_fixtures.reference.probe import Tried, in_memory
from assay_fixtures.runner.load import LoadSampler
from assay_fixtures.verified import exit_code

AT_ONCE: Final = 8
"""Lives over sockets that run side by side: they mostly wait."""

MOST_BEGINNINGS: Final = 5
"""How often to begin a life over sockets again whose agent a busy machine kept from its first answer, before anything
is judged."""

SOCKET_ROUND: Final = 25
"""Lives of a round over sockets: a thousand of them are of all areas, as each round is of one."""

OFTEN: Final = 100
"""A requirement whose precondition occurred less often has not been shown to be quiet."""

LEAST_HARMED: Final = 0.7
"""Share of lives in which a fault fired."""

MOST_INCONCLUSIVE: Final = 0.01
"""Share of judgements that are left open."""


class Life(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of one life. `exercised`: how often the precondition of each requirement occurred. `begun_again`: how
    often its agent did not even answer, and nothing was judged. `case`: the directed Case in which a client was
    blamed."""

    exercised: dict[str, int]
    fired: int = 0
    steps: int = 0
    inconclusive: int = 0
    said: tuple[str, ...] = ()
    begun_again: int = 0
    case: Case | None = None


def life_of(tried: Tried) -> Life:
    undecided = [one for one in tried.judgements if one.verdict is Verdict.INCONCLUSIVE]
    # What a busy machine left open blames no client; it is counted separately.
    decided = Tried(tried.case, tried.events, tuple(one for one in tried.judgements if one not in undecided))
    return Life(
        exercised={str(one.requirement): one.exercised for one in tried.judgements if one.exercised},
        fired=sum(isinstance(event, Fired) for event in tried.events),
        steps=len(tried.case.steps),
        inconclusive=len(undecided),
        said=tuple(blamed(decided)),
    )


def drawn(seed: int, lives: int = ROUND) -> list[Case]:
    """Draw lives as exploration does: areas take turns."""
    return plan.draw(areas.lives(areas.by_turns(seed)), lives, seed)


def directed(seed: int, exercised: Counter[str]) -> list[Case]:
    """Draw a round of directed Cases with faults, of what was exercised too seldom as long as there is such.

    Each of these requirements gets as many as any other, however many Cases it has.
    """
    site, pack = EmbeddedSite(), load_packs()
    here = [case for case in pack.cases if in_memory(case) and not any(map(site.lacks, needs(case)))]
    sought = ([case for case in here if one in case.requirements] for one in seldom(pack, exercised))
    return plan.draw(st.one_of([harmed(cases) for cases in sought if cases] or [harmed(here)]), ROUND, seed)


def seldom(pack: Pack, exercised: Counter[str]) -> list[str]:
    """Return the requirements whose precondition should have occurred more often."""
    return sorted(one for one in pack.checks if exercised[one] < OFTEN)


def in_virtual_time(cases: Sequence[Case]) -> list[Life]:
    return [life_of(trial(number).in_virtual_time(case)) for number, case in enumerate(cases)]


def over_sockets(cases: Sequence[Case]) -> list[Life]:
    async def main() -> list[Life]:
        turn, sampler = asyncio.Semaphore(AT_ONCE), LoadSampler()

        async def one(number: int, case: Case) -> Life:
            trying = replace(trial(number), sampler=sampler)
            async with turn:
                for before in range(MOST_BEGINNINGS - 1):
                    with suppress(AgentHung):
                        life = life_of(await trying.over_sockets(case))
                        return msgspec.structs.replace(life, begun_again=before)
                life = life_of(await trying.over_sockets(case))
                return msgspec.structs.replace(life, begun_again=MOST_BEGINNINGS - 1)

        await sampler.start()
        try:
            return await asyncio.gather(*(one(number, case) for number, case in enumerate(cases)))
        finally:
            await sampler.stop()

    return asyncio.run(main())


# --- what is kept -----------------------------------------------------------------------------------------------------


def kept(folder: Path) -> dict[int, list[Life]]:
    """Return the stored rounds by their seed."""
    files = sorted(folder.glob("*.json"), key=lambda path: int(path.stem))
    return {int(path.stem): msgspec.json.decode(path.read_bytes(), type=list[Life]) for path in files}


def keep(folder: Path, seed: int, lives: list[Life]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{seed}"
    aside.write_bytes(msgspec.json.encode(lives))
    aside.rename(folder / f"{seed}.json")


Rounds = dict[int, list[Life]]


def play_on(rounds: Rounds, others: Rounds, folder: Path, first_seed: int, lives: int) -> None:
    """Play rounds of lives and of directed Cases in turn, in virtual time, until there are so many lives.

    Then directed ones alone are played, at most as many, until nothing was exercised too seldom.
    """
    pack = load_packs()
    for seed in count(first_seed):
        played, besides = (sum(map(len, kind.values())) for kind in (rounds, others))
        enough = played >= lives
        if enough and (besides >= 2 * lives or not seldom(pack, exercise(rounds, others))):
            return
        if seed not in rounds and not enough:
            rounds[seed] = in_virtual_time(drawn(seed))
            keep(folder, seed, rounds[seed])
        if seed not in others:
            cases = directed(seed, exercise(rounds, others))
            others[seed] = [
                msgspec.structs.replace(life, case=case) if life.said else life
                for case, life in zip(cases, in_virtual_time(cases), strict=True)
            ]
            keep(folder / "directed", seed, others[seed])
        print(f"seed {seed}: {played} lives and {besides} directed Cases before", file=sys.stderr, flush=True)


def play_over_sockets(rounds: Rounds, folder: Path, first_seed: int, lives: int) -> None:
    seeds = (seed for seed in count(first_seed) if seed not in rounds)
    while sum(map(len, rounds.values())) < lives:
        seed = next(seeds)
        rounds[seed] = over_sockets(drawn(seed, SOCKET_ROUND))
        keep(folder, seed, rounds[seed])
        print(f"seed {seed}: {len(rounds[seed])} lives", file=sys.stderr, flush=True)


def exercise(*kinds: Rounds) -> Counter[str]:
    """Return how often the precondition of each requirement occurred in all lives so far."""
    exercised: Counter[str] = Counter()
    for life in (life for rounds in kinds for lives in rounds.values() for life in lives):
        exercised.update(life.exercised)
    return exercised


# --- the figures ------------------------------------------------------------------------------------------------------


class Figures(NamedTuple):
    """`harmed`, `judged` and `inconclusive` are of the lives alone; `by_lives`, requirements that they exercised often.
    `seldom`: those that were not, with the directed Cases, and how often they were."""

    lives: int
    harmed: float
    judged: int
    inconclusive: float
    by_lives: int
    seldom: dict[str, int]


def figures(rounds: Rounds, others: Rounds, pack: Pack) -> Figures:
    lives = [life for round_ in rounds.values() for life in round_]
    alone, together = exercise(rounds), exercise(rounds, others)
    judged = sum(len(life.exercised) for life in lives)
    return Figures(
        len(lives),
        sum(life.fired > 0 for life in lives) / (len(lives) or 1),
        judged,
        sum(life.inconclusive for life in lives) / (judged or 1),
        sum(times >= OFTEN for times in alone.values()),
        {one: together[one] for one in seldom(pack, together)},
    )


def missed(known: Figures, *, sockets: bool = False) -> Iterator[str]:
    """Yield goals that these lives do not reach, whether or not a client was blamed.

    Over sockets, no directed Cases ensure that every requirement is exercised.
    """
    if known.harmed < LEAST_HARMED:
        yield f"missed: {known.harmed:.1%} of lives with a fault that fired; at least {LEAST_HARMED:.0%} are wanted"
    if known.inconclusive > MOST_INCONCLUSIVE:
        yield f"missed: {known.inconclusive:.2%} of judgements inconclusive; at most {MOST_INCONCLUSIVE:.0%} may be"
    if known.seldom and not sockets:
        yield f"missed: {len(known.seldom)} requirements exercised less than {OFTEN} times: {', '.join(known.seldom)}"


def report(rounds: Rounds, others: Rounds, pack: Pack, known: Figures) -> Iterator[str]:
    lives, directed = ([life for round_ in kind.values() for life in round_] for kind in (rounds, others))
    if not lives:
        yield "no lives yet"
        return
    steps = sorted(life.steps for life in lives)
    yield f"{len(lives)} lives of {steps[len(steps) // 2]} steps (median), {_blamed(lives)} blamed"
    if again := sum(life.begun_again for life in lives):
        yield f"{again} beginnings, of which nothing was judged, for the agent was kept from its first answer"
    yield f"{known.harmed:.0%} with a fault that fired"
    yield f"{known.inconclusive:.2%} of {known.judged} judgements inconclusive"
    if directed:
        yield f"besides, {len(directed)} directed Cases under harm, {_blamed(directed)} blamed"
    yield (
        f"{len(known.seldom)} of {len(pack.checks)} requirements exercised less than {OFTEN} times; "
        f"{known.by_lives} as often by lives alone"
    )
    yield from (f"  {one}: {times}" for one, times in known.seldom.items())


def _blamed(lives: Sequence[Life]) -> int:
    return sum(bool(life.said) for life in lives)


def accusations(rounds: Rounds, word: str = "life") -> Iterator[str]:
    for seed, lives in rounds.items():
        for number, life in enumerate(lives):
            if life.said:
                yield f"seed {seed}, {word} {number}: " + "; ".join(life.said)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lives", type=int, default=10_000)
    parser.add_argument("--sockets", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kept", type=Path, help="default: runs/lives, or runs/lives-over-sockets")
    said = parser.parse_args()
    folder = said.kept or Path("runs", "lives-over-sockets" if said.sockets else "lives")
    rounds, others = kept(folder), kept(folder / "directed")
    if said.sockets:
        play_over_sockets(rounds, folder, said.seed, said.lives)
    else:
        play_on(rounds, others, folder, said.seed, said.lives)
    told = [*accusations(rounds), *accusations(others, "directed")]
    pack = load_packs()
    known = figures(rounds, others, pack)
    short = list(missed(known, sockets=said.sockets))
    print("\n".join((*report(rounds, others, pack, known), *told, *short)))
    lives = sum(map(len, (*rounds.values(), *others.values())))
    return exit_code(lives, len(told) + len(short), "lives")


if __name__ == "__main__":
    sys.exit(main())
