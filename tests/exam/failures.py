"""What fails of many drawn Cases, each kind of breach once: confirmed and reduced as `assay explore` does it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assay_conformance.machines.causes import Breach
from assay_conformance.machines.reducer import without_unfired
from assay_conformance.model.case import Case
from assay_fixtures.runner.explore import Confirmation, Probe, confirm, reduce, rolling


@dataclass(frozen=True, slots=True)
class Failure:
    """A generated Case that fails: as it was drawn, and reduced; `confirmed` of `tries` fresh runs failed alike."""

    drawn: Case
    reduced: Case
    breaches: frozenset[Breach]
    confirmed: int
    tries: int


CONFIRMATION = Confirmation()


async def failures_of(cases: Iterable[Case], probe: Probe, *, parallel: int = 16) -> list[Failure]:
    """Every Case once; those that fail are confirmed, and the first of each kind of breach is reduced."""
    failures: list[Failure] = []
    known: set[Breach] = set()
    async for probed in rolling(cases, probe, parallel):
        if not probed.breaches - known:
            continue
        case = without_unfired(probed.case, probed.fired)
        confirmed = await confirm(case, probe, probed.breaches, CONFIRMATION)
        if confirmed < CONFIRMATION.needed:
            continue
        known |= probed.breaches
        reduced = await reduce(case, probe, probed.breaches, parallel=lambda: parallel, confirmation=CONFIRMATION)
        failures.append(Failure(probed.case, reduced, probed.breaches, confirmed, CONFIRMATION.tries))
    return failures
