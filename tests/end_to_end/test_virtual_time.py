"""A whole Case in memory and virtual time, through the same runner, says what it says over sockets and real seconds."""

from __future__ import annotations

import asyncio
import time

import pytest

from assay_conformance.cases.build import Schedule, down, up
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.event import Completion, ErrorClass
from assay_conformance.model.fault import Cut, Drop, Fault
from assay_conformance.model.verdict import Judgement
from assay_fixtures.reference.probe import ReferenceTrial, Tried

SEND_TIMEOUT_MS = 30_000
SHORT_MS = 5_000
"""For who waits for it in real time."""


def time_out(send_timeout_ms: int) -> Case:
    """The connection dies with the second of three sends, no receipt ever comes, and the sends time out."""
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.send(producer, 3)
    plan.wait_ops()
    return plan.case(
        "end-to-end/time-out",
        "A cut, no receipts, and a send time-out",
        ("resend.send-timeout", "resend.pending-sends-resent"),
        producer={"send_timeout_ms": send_timeout_ms},
        faults=(
            Fault(trigger=up("SEND", k=2), action=Cut()),
            Fault(trigger=down("SEND_RECEIPT", times=0), action=Drop()),
        ),
        limits=Limits(operation_ms=40_000, case_ms=60_000, least_wall_ms=send_timeout_ms),
    )


CASE = time_out(SEND_TIMEOUT_MS)
LATE = ReferenceTrial(mutants=frozenset({"send-timeout-late"}))
"""Misses the time-out by more than is tolerated, so that there is something to find."""


OF_ITS_TIME = "delivery.statistics-per-fault"
"""Where no time passes, what is sent at once is sent while the fault lasts."""


def said(tried: Tried) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """What each judgement says, times and texts aside."""

    def of(judgement: Judgement) -> tuple[str, str, list[tuple[str, str]]]:
        codes = [(finding.code, finding.grade.value) for finding in judgement.findings]
        return (judgement.requirement, judgement.verdict.value, codes)

    return [of(judgement) for judgement in tried.judgements if judgement.requirement != OF_ITS_TIME]


@pytest.fixture(scope="module")
def virtual() -> Tried:
    return LATE.in_virtual_time(CASE)


def test_thirty_seconds_take_less_than_one() -> None:
    began_s = time.perf_counter()
    tried = LATE.in_virtual_time(CASE)
    took_s = time.perf_counter() - began_s
    assert tried.events[-1].t_ns > SEND_TIMEOUT_MS * 1_000_000
    assert took_s < 1


def test_sends_time_out_when_their_virtual_time_is_up(virtual: Tried) -> None:
    ends = [event for event in virtual.events if isinstance(event, Completion) and event.verb == "send"]
    assert {event.error for event in ends} == {ErrorClass.TIMEOUT}
    assert all(event.t_ns > SEND_TIMEOUT_MS * 1_000_000 for event in ends)


def test_virtual_time_repeats_itself_exactly(virtual: Tried) -> None:
    assert LATE.in_virtual_time(CASE).events == virtual.events


def test_honest_client_passes_in_virtual_time() -> None:
    assert {j.verdict.value for j in ReferenceTrial().in_virtual_time(CASE).judgements} == {"pass"}


def test_sockets_and_real_time_give_the_same_findings() -> None:
    case = time_out(SHORT_MS)
    virtual, real = LATE.in_virtual_time(case), asyncio.run(LATE.over_sockets(case))
    findings = {finding.code for judgement in virtual.judgements for finding in judgement.findings}
    assert findings == {"late"}
    assert said(real) == said(virtual)
