"""An honest client is never blamed: lives of all areas in virtual time, faults of every kind, and no finding in any.

    python fuzz/lives.py --lives 10000 --seed 7 [--variant NAME]

The lives of an exploration, as many as there is time for. They are drawn in rounds, each of a seed of its own, so that
a run can go on where an earlier one ended: `--seed` is that of the first round. A life in which the client is blamed is
printed with seed, number and what was said, and its Case is written to `--keep`, for `assay replay` and the reducer.
With `--variant` the client does what a released one lawfully does otherwise; lives that ask for what it lacks are left
out.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from assay_conformance.cases.fitting import drawable, raised
from assay_conformance.machines import areas, plan
from assay_conformance.model.verdict import Verdict
from assay_conformance.pulsar.variants import variant_facts
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import FACTS, ReferenceTrial, Tried
from assay_fixtures.runner.selection import missing
from assay_fixtures.verified import exit_code

ROUND: Final = 250
LATENCY_MS: Final = 8
"""How late frames and the agent's words are, at most, in every other life."""


def trial(number: int, variants: frozenset[str] = frozenset()) -> ReferenceTrial:
    """Return a trial. In every other life, frames and the agent's messages have the same latency."""
    return ReferenceTrial(seed=number, latency_ms=number % 2 * LATENCY_MS, variants=variants)


def tried(seed: int, variants: frozenset[str] = frozenset()) -> Iterator[Tried]:
    """Play one round: every life that the seed draws, of the area whose turn it is."""
    facts, catalogue = variant_facts(FACTS, variants), load_packs().catalogue
    able = drawable(facts) if variants else None
    for number, drawn in enumerate(plan.draw(areas.lives(areas.by_turns(seed), able), ROUND, seed)):
        case = raised(drawn, facts)
        if not missing(case, facts, catalogue):
            yield trial(number, variants).in_virtual_time(case)


def blamed(life: Tried) -> list[str]:
    """Return what was said against a life; a verdict other than a pass counts as well."""
    judged = [judgement for judgement in life.judgements if judgement.verdict is not Verdict.PASS]
    return [f"{one.requirement}: {one.verdict}: {one.reason}" for one in judged]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lives", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variant", action="append", default=[], help="a lawful variant of the reference client")
    parser.add_argument("--keep", type=Path, help="folder for the Cases of those who are blamed")
    options = parser.parse_args()
    lives = accused = 0
    seed, began = options.seed, time.monotonic()
    while lives < options.lives:
        for number, life in enumerate(tried(seed, frozenset(options.variant))):
            lives += 1
            if said := blamed(life):
                accused += 1
                print(f"seed {seed}, life {number}: " + "; ".join(said), flush=True)
                _keep(options.keep, seed, number, life)
        seed += 1
        took_s = time.monotonic() - began
        print(f"{lives} lives in {took_s:.0f} s, {accused} blamed; the next seed is {seed}", flush=True)
    return exit_code(lives, accused, "lives")


def _keep(folder: Path | None, seed: int, number: int, life: Tried) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{seed}-{number}.json").write_bytes(msgspec.json.encode(life.case, order="deterministic"))


if __name__ == "__main__":
    sys.exit(main())
