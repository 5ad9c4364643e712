"""Would exploration have found the mutants by itself? Mixed lives in virtual time, against one mutant after the other.

    python -m bench.kill_by_exploration --lives FOLDER [--cpu-s 120] [--only MUTANT] [--anew]

FOLDER is what `python -m bench.no_false_alarm --kept FOLDER` kept of the same lives with an honest client. A life that
does not exercise the requirement there is passed over. Exploration has nobody to tell it that beforehand, so each such
life takes as much of the mutant's time as those that were played take on average. Each mutant has so many seconds of
CPU. No directed Case takes part.
What came of each is kept in fixtures/golden/kills_by_exploration.json as it goes, and docs/mutants.md shows it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from bench.no_false_alarm import Life, drawn, kept, trial
from tests.exam import kill_matrix
from tests.exam.kill_matrix import Found
from tests.exam.test_both_ways import BROKER_ROWS, PACK, failed_in

from assay_conformance.broker import BrokerMutation
from assay_conformance.client import Mutation
from assay_conformance.client.mutations import MUTATIONS
from assay_conformance.model.case import Case

Mutant = Mutation | BrokerMutation


@cache
def _cases(seed: int) -> list[Case]:
    return drawn(seed)


def _own(mutant: Mutant) -> frozenset[str]:
    """The requirements of the row it breaks."""
    row = MUTATIONS[mutant].row if isinstance(mutant, Mutation) else BROKER_ROWS[mutant]
    return frozenset(one.id for one in PACK.catalogue.requirements.values() if one.row == row)


def _reaching(rounds: Mapping[int, list[Life]], requirements: frozenset[str]) -> Iterator[tuple[int, int, int]]:
    """Seed and number of the lives that exercise one of these, and how many did not up to then."""
    passed_over = 0
    for seed, lives in rounds.items():
        for number, life in enumerate(lives):
            if requirements.isdisjoint(life.exercised):
                passed_over += 1
            else:
                yield seed, number, passed_over


def charged_s(spent_s: float, lives: int, passed_over: int) -> float:
    """The time of the lives that were played, and as much for each that was passed over."""
    return spent_s * (lives + passed_over) / lives if lives else 0.0


def sought(mutant: Mutant, rounds: Mapping[int, list[Life]], cpu_s: float) -> Found:
    """Until its requirement fails in a life, the lives are over, or the time is."""
    client = frozenset({mutant}) if isinstance(mutant, Mutation) else frozenset()
    broker = frozenset({mutant}) if isinstance(mutant, BrokerMutation) else frozenset()
    own, began, found = _own(mutant), time.process_time(), Found(0, 0.0)
    for seed, number, passed_over in _reaching(rounds, own):
        # What lies in front of it may use the time up.
        if charged_s(time.process_time() - began, found.lives, passed_over) > cpu_s:
            break
        tried = replace(trial(number), client=client, broker=broker).in_virtual_time(_cases(seed)[number])
        lives = found.lives + 1
        took_s = round(charged_s(time.process_time() - began, lives, passed_over), 1)
        failed = not own.isdisjoint(failed_in(tried))
        found = Found(lives, took_s, f"{seed}-{number}" if failed else "", passed_over)
        if failed:
            break
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lives", type=Path, required=True)
    parser.add_argument("--cpu-s", type=float, default=120)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--anew", action="store_true")
    said = parser.parse_args()
    rounds = kept(said.lives)
    mutants = [mutant for mutant in (*Mutation, *BrokerMutation) if not said.only or mutant in said.only]
    found = kill_matrix.found()
    for mutant in mutants:
        if said.anew or mutant not in found:
            found[str(mutant)] = sought(mutant, rounds, said.cpu_s)
            kill_matrix.keep_found(found)
            print(f"{mutant}: {found[str(mutant)]}", file=sys.stderr, flush=True)
    kill_matrix.PAGE.write_text(kill_matrix.written(), "utf-8")


if __name__ == "__main__":
    main()
