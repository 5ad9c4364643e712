"""A guess how long a Case lasts, of the times that it names."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.cases.build import Schedule, down
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.fault import Delay, Fault, Hold, Resegment, Until
from assay_conformance.model.lasting import may_last_ms


def _case(plan: Schedule | None = None, **fields: Any) -> Case:
    return (plan or Schedule()).case("test/case", "t", (), **fields)


def test_pauses_and_receives_come_one_after_the_other() -> None:
    plan = Schedule()
    plan.wait_ms(700)
    plan.receive(1, 3, timeout_ms=1_500)
    assert may_last_ms(_case(plan)) == 2_200


def test_a_bound_of_what_has_long_happened_is_not_waited_for() -> None:
    plan = Schedule()
    plan.receive(1, 3)
    assert may_last_ms(_case(plan)) == 0


def test_what_a_fault_holds_back_is_waited_for() -> None:
    held = Fault(trigger=down("SEND_RECEIPT"), action=Hold(), until=Until(after_ms=300))
    late = Fault(trigger=down("SEND_RECEIPT"), action=Delay(200))
    assert may_last_ms(_case(faults=(held, late))) == 500


def test_pieces_of_what_is_sent_come_one_after_the_other() -> None:
    plan = Schedule()
    plan.send(1, count=20, size=1_000)
    dividing = Fault(trigger=down("CONNECTED"), action=Resegment(piece_bytes=100, gap_ms=5))
    assert may_last_ms(_case(plan, faults=(dividing,))) == 5 + 1_000


def test_the_longest_of_the_clients_own_times_is_waited_for() -> None:
    settings = {"batching_max_publish_delay_ms": 5_000, "send_timeout_ms": 500, "max_pending_messages": 9_000}
    assert may_last_ms(_case(producer=settings)) == 5_000


@pytest.mark.parametrize(("limits", "lasts_ms"), [(Limits(operation_ms=3_000), 3_000), (Limits(), 0)])
def test_an_operation_that_may_never_end_is_waited_for(limits: Limits, lasts_ms: int) -> None:
    assert may_last_ms(_case(limits=limits)) == lasts_ms


def test_what_a_case_says_itself_is_at_least_true() -> None:
    assert may_last_ms(_case(limits=Limits(least_wall_ms=4_000))) == 4_000
