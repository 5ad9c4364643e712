"""Is an honest client ever blamed? Mixed lives of the reference client under faults, judged by every check.

    python -m bench.no_false_alarm [--lives 10000] [--sockets] [--seed 1] [--kept FOLDER]

The lives of fuzz/lives.py, in virtual time, or over real sockets, several at once. They are drawn in rounds, each of a
seed of its own; what came of a round is kept in FOLDER, so that what was interrupted goes on where it stopped, and the
figures are of everything that is kept there. `--lives 0` only shows them. Whoever was blamed is named with seed and
number: the check is wrong, or the broker, or the reference client. Then the status is 1.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Final

import msgspec
from fuzz.lives import LATENCY_MS, ROUND, blamed

from assay_conformance.machines import areas, plan
from assay_conformance.model.case import Case
from assay_conformance.model.event import Fired
from assay_conformance.model.verdict import Verdict
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import ReferenceTrial, Tried

AT_ONCE: Final = 8
"""Lives over sockets that run side by side: they mostly wait."""

OFTEN: Final = 100
"""A requirement whose precondition occurred less often has not been shown to be quiet."""


class Life(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of one life. `exercised`: how often the precondition of each requirement occurred."""

    exercised: dict[str, int]
    fired: int = 0
    steps: int = 0
    inconclusive: int = 0
    said: tuple[str, ...] = ()


def life_of(tried: Tried) -> Life:
    undecided = [one for one in tried.judgements if one.verdict is Verdict.INCONCLUSIVE]
    # What a busy machine left open blames nobody; it is counted apart.
    decided = Tried(tried.case, tried.events, tuple(one for one in tried.judgements if one not in undecided))
    return Life(
        exercised={str(one.requirement): one.exercised for one in tried.judgements if one.exercised},
        fired=sum(isinstance(event, Fired) for event in tried.events),
        steps=len(tried.case.steps),
        inconclusive=len(undecided),
        said=tuple(blamed(decided)),
    )


def trial(number: int) -> ReferenceTrial:
    """Every other life has latency, frames and the agent's words alike."""
    return ReferenceTrial(seed=number, latency_ms=number % 2 * LATENCY_MS)


def drawn(seed: int) -> list[Case]:
    return plan.draw(areas.lives(), ROUND, seed)


def in_virtual_time(cases: Sequence[Case]) -> list[Life]:
    return [life_of(trial(number).in_virtual_time(case)) for number, case in enumerate(cases)]


def over_sockets(cases: Sequence[Case]) -> list[Life]:
    async def main() -> list[Life]:
        turn = asyncio.Semaphore(AT_ONCE)

        async def one(number: int, case: Case) -> Life:
            async with turn:
                return life_of(await trial(number).over_sockets(case))

        return await asyncio.gather(*(one(number, case) for number, case in enumerate(cases)))

    return asyncio.run(main())


# --- what is kept -----------------------------------------------------------------------------------------------------


def kept(folder: Path) -> dict[int, list[Life]]:
    """Rounds by their seed."""
    files = sorted(folder.glob("*.json"), key=lambda path: int(path.stem))
    return {int(path.stem): msgspec.json.decode(path.read_bytes(), type=list[Life]) for path in files}


def keep(folder: Path, seed: int, lives: list[Life]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{seed}"
    aside.write_bytes(msgspec.json.encode(lives))
    aside.rename(folder / f"{seed}.json")


# --- the figures ------------------------------------------------------------------------------------------------------


def report(rounds: dict[int, list[Life]], requirements: Iterable[str]) -> Iterator[str]:
    lives = [life for round_ in rounds.values() for life in round_]
    if not lives:
        yield "no lives yet"
        return
    exercised: Counter[str] = Counter()
    for life in lives:
        exercised.update(life.exercised)
    accused = sum(bool(life.said) for life in lives)
    judged = sum(len(life.exercised) for life in lives) or 1
    harmed = sum(life.fired > 0 for life in lives)
    steps = sorted(life.steps for life in lives)
    yield f"{len(lives)} lives of {steps[len(steps) // 2]} steps (median); {accused} blamed"
    yield f"{harmed / len(lives):.0%} with a fault that fired"
    yield f"{sum(life.inconclusive for life in lives) / judged:.2%} of {judged} judgements inconclusive"
    seldom = sorted(one for one in requirements if exercised[one] < OFTEN)
    yield f"{len(seldom)} requirements exercised less than {OFTEN} times:"
    yield from (f"  {one}: {exercised[one]}" for one in seldom)


def accusations(rounds: dict[int, list[Life]]) -> Iterator[str]:
    for seed, lives in rounds.items():
        for number, life in enumerate(lives):
            if life.said:
                yield f"seed {seed}, life {number}: " + "; ".join(life.said)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lives", type=int, default=10_000)
    parser.add_argument("--sockets", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kept", type=Path, help="default: runs/lives, or runs/lives-over-sockets")
    said = parser.parse_args()
    folder = said.kept or Path("runs", "lives-over-sockets" if said.sockets else "lives")
    rounds = kept(folder)
    seeds = (seed for seed in count(said.seed) if seed not in rounds)
    while sum(map(len, rounds.values())) < said.lives:
        seed = next(seeds)
        rounds[seed] = (over_sockets if said.sockets else in_virtual_time)(drawn(seed))
        keep(folder, seed, rounds[seed])
        print(f"seed {seed}: {len(rounds[seed])} lives", file=sys.stderr, flush=True)
    told = list(accusations(rounds))
    print("\n".join((*report(rounds, load_packs().catalogue.requirements), *told)))
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
