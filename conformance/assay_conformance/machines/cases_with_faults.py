"""Directed Cases under harm that they were not written for.

A directed Case brings its precondition about, whatever the rest of the world does; lives that are drawn from nothing
rarely come to a letter, a lease of a name, or a limit of memory. Together with harm at any frame they show that a check
keeps quiet where its own precondition meets a fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from hypothesis import strategies as st

from assay_conformance.machines.drawn_faults import MAX_FAULTS, MOST_HARMS, DrawnFault, faults_of, some
from assay_conformance.machines.network_faults import HARMS
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.fault import Cut, Delay, Drop, Duplicate, Hold

PATIENCE_MS = 120_000
"""What an operation gets: a connection that went silent is noticed by a keep-alive of 30 s, and sends have 30 s."""

OF_A_PRODUCER: Final = {
    "SUBSCRIBE": "PRODUCER",
    "SUCCESS": "PRODUCER_SUCCESS",
    "FLOW": "SEND",
    "MESSAGE": "SEND_RECEIPT",
    "ACK": "SEND",
    "ACK_RESPONSE": "SEND_RECEIPT",
}
OF_A_CONSUMER: Final = {
    "PRODUCER": "SUBSCRIBE",
    "PRODUCER_SUCCESS": "SUCCESS",
    "SEND": "FLOW",
    "SEND_RECEIPT": "MESSAGE",
}
"""What a Case without a consumer, or without a producer, has instead of a frame that never occurs in it."""

OF_ANY_FRAME: Final = (Cut, Delay, Drop, Duplicate, Hold)
"""What can happen to whatever frame."""


def harmed(cases: Sequence[Case]) -> st.SearchStrategy[Case]:
    """Return a strategy of one of `cases` with one or more drawn faults.

    Ids say which Case it was; the plan numbers them.
    """
    return st.builds(with_faults, st.sampled_from(cases), some(HARMS, MOST_HARMS))


def with_faults(case: Case, harms: Iterable[DrawnFault]) -> Case:
    """Return the Case with further faults. Nothing says any more that its own faults are reached."""
    met = [_met(case, harm) for harm in list(harms)[:MAX_FAULTS]]
    faults = (*case.faults, *(fault for harm in met for fault in faults_of(harm)))
    return msgspec.structs.replace(
        case,
        id=f"generated/harmed-{case.id.replace('/', '-')}",
        requirements=(),
        faults=tuple(msgspec.structs.replace(fault, optional=True) for fault in faults),
        limits=_patient(case.limits),
        generated=True,
    )


def _met(case: Case, harm: DrawnFault) -> DrawnFault:
    """Return the drawn fault at a frame that the Case may come to."""
    verbs = {step.verb for step in case.steps}
    instead = {} if {"open_producer", "open_consumer"} <= verbs else OF_A_PRODUCER
    if "open_consumer" in verbs and "open_producer" not in verbs:
        instead = OF_A_CONSUMER
    fits_any = isinstance(harm.action, OF_ANY_FRAME) and harm.command in instead
    return harm._replace(command=instead[harm.command], answers="") if fits_any else harm


def _patient(limits: Limits) -> Limits:
    operation_ms = max(limits.operation_ms, PATIENCE_MS)
    return msgspec.structs.replace(limits, operation_ms=operation_ms, case_ms=max(limits.case_ms, 4 * operation_ms))
