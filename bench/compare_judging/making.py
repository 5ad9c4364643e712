"""Parts of the corpus that are made here: histories of the reference client in virtual time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final

from bench.compare_judging.corpus import cases_of, write
from bench.compare_judging.sampling import Candidate
from bench.no_false_alarm import drawn
from fuzz.lives import ROUND, trial
from tests.exam.kill_matrix import kept
from tests.exam.test_both_ways import CASES, named

from assay_conformance.cases.permutations import permutations
from assay_conformance.model.case import Case, Tier
from assay_conformance.model.event import Event
from assay_conformance.model.needs import needs
from assay_conformance.pulsar.mutants import mutants
from assay_fixtures.brokers.embedded import EmbeddedSite
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import FACTS, ReferenceTrial

PIECE: Final = 250
"""Histories in one part, at most: it is unpacked as one."""

UNJUDGED: Final = replace(load_packs(), checks={})
"""Both sides judge later."""

DRAWN_EACH: Final = 20
"""Lives that a mutant plays besides its Cases."""


def make_directed(corpus: Path) -> Iterator[str]:
    """Pack every directed Case that needs no process but the client's, with all its permutations."""
    site = EmbeddedSite()

    def can(case: Case) -> bool:
        return FACTS.capabilities.issuperset(case.capabilities) and not any(map(site.lacks, needs(case)))

    plain = list(CASES.values())
    permuted = [one for case in plain if case.tier is Tier.FAST for one in permutations(case) if can(one)]
    for kind, cases in (("reference", plain), ("permuted", permuted)):
        for first in range(0, len(cases), PIECE):
            part = f"{kind}/{first // PIECE:02}"
            if not (packed := corpus / f"{part}.zip").exists():
                histories = _histories(ReferenceTrial(pack=UNJUDGED), cases[first : first + PIECE])
                yield f"{part}: {write(packed, FACTS, histories)}"


def make_lives(corpus: Path, lives: int, seed: int) -> Iterator[str]:
    """Pack lives of all areas, a part for each round of `fuzz/lives.py`, until there are so many."""
    for at in count(seed):
        if lives <= 0:
            return
        if not (packed := corpus / f"lives/{at:05}.zip").exists():
            yield f"lives/{at:05}: {write(packed, FACTS, _lived(at))}"
        lives -= ROUND


def make_mutants(corpus: Path, lives: Sequence[Candidate]) -> Iterator[str]:
    """Pack each mutant in its Cases of the kill matrix, and in some of these lives of the honest client."""
    for mutant in mutants():
        if not (packed := corpus / f"mutants/{mutant}.zip").exists():
            cases = [CASES[case] for case in kept()[mutant].failed if case in CASES]
            played = [*cases, *_cases(corpus, fit(lives, named(mutant)))]
            yield f"mutants/{mutant}: {write(packed, FACTS, _histories(_trial(mutant), played))}"


def fit(lives: Sequence[Candidate], requirement: str) -> list[Candidate]:
    """Return twenty of the lives, first those in which something is said about this requirement.

    Where to begin depends on the requirement, so that not all requirements get the same lives.
    """
    start = sum(requirement.encode()) % (len(lives) or 1)
    turned = [*lives[start:], *lives[:start]]
    return sorted(turned, key=lambda life: all(requirement != one for one, _ in life.signs))[:DRAWN_EACH]


def _cases(corpus: Path, lives: Sequence[Candidate]) -> Iterator[Case]:
    plans: dict[str, Mapping[str, Case]] = {}
    for life in lives:
        if life.part not in plans:
            plans[life.part] = cases_of(corpus / f"{life.part}.zip")
        yield plans[life.part][life.history.rpartition("/")[0]]


def _lived(seed: int) -> Iterator[tuple[Case, Sequence[Event]]]:
    for number, case in enumerate(drawn(seed)):
        yield from _histories(replace(trial(number), pack=UNJUDGED), [case])


def _trial(mutant: str) -> ReferenceTrial:
    return ReferenceTrial(mutants=frozenset({mutant}), pack=UNJUDGED)


def _histories(trial: ReferenceTrial, cases: Sequence[Case]) -> Iterator[tuple[Case, Sequence[Event]]]:
    for case in cases:
        yield case, trial.in_virtual_time(case).events
