"""Directed Cases under harm that they were not written for.

A directed Case brings its precondition about, whatever the rest of the world does; lives that are drawn from nothing
rarely come to a letter, a lease of a name, or a limit of memory. Together with harm at any frame they show that a check
keeps quiet where its own precondition meets a fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from hypothesis import strategies as st

from assay_conformance.machines.areas import HARMS, MOST_HARMS, some
from assay_conformance.machines.harm import MAX_FAULTS, Harm, faults_of
from assay_conformance.model.case import Case, Limits

PATIENCE_MS = 120_000
"""What an operation gets: a connection that went silent is noticed by a keep-alive of 30 s, and sends have 30 s."""


def harmed(cases: Sequence[Case]) -> st.SearchStrategy[Case]:
    """One of `cases` with one harm or more. Ids say which Case it was; the plan numbers them."""
    return st.builds(with_harm, st.sampled_from(cases), some(HARMS, MOST_HARMS))


def with_harm(case: Case, harms: Iterable[Harm]) -> Case:
    """The Case in a world that goes wrong in its own way, too. Nothing says any more that its faults are reached."""
    faults = (*case.faults, *(fault for harm in list(harms)[:MAX_FAULTS] for fault in faults_of(harm)))
    return msgspec.structs.replace(
        case,
        id=f"generated/harmed-{case.id.replace('/', '-')}",
        requirements=(),
        faults=tuple(msgspec.structs.replace(fault, optional=True) for fault in faults),
        limits=_patient(case.limits),
        generated=True,
    )


def _patient(limits: Limits) -> Limits:
    operation_ms = max(limits.operation_ms, PATIENCE_MS)
    return msgspec.structs.replace(limits, operation_ms=operation_ms, case_ms=max(limits.case_ms, 4 * operation_ms))
