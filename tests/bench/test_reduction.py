"""What is told of a counterexample that was made small."""

from __future__ import annotations

import pytest
from bench.reduction import first_of, is_minimal

from assay_conformance.model.case import Case, Step, Who
from assay_conformance.model.fault import Cut, Direction, Fault, OnFrame
from assay_reports.exploration import Found

LOST = "resend.pending-sends-resent"
CUT = Fault(trigger=OnFrame(command="SEND", direction=Direction.TO_BROKER), action=Cut())


def _case(*verbs: str) -> Case:
    steps = tuple(Step(Who.AGENT, verb) for verb in verbs)
    return Case(id="generated/x", title="x", requirements=(), steps=steps, faults=(CUT,))


def _send_and_cut(case: Case) -> bool:
    return bool(case.faults) and any(step.verb == "send" for step in case.steps)


def _never(_: Case) -> bool:
    return False


@pytest.mark.parametrize(("verbs", "minimal"), [(("send",), True), (("send", "seek"), False), (("seek",), None)])
def test_a_case_is_minimal_if_it_passes_without_each_of_its_parts(verbs: tuple[str, ...], minimal: bool | None) -> None:
    assert is_minimal(_case(*verbs), [_send_and_cut]) is minimal


def test_a_case_is_tried_where_it_fails() -> None:
    assert is_minimal(_case("send", "seek"), [_never, _send_and_cut]) is False


def test_a_fault_need_not_act_on_what_is_left() -> None:
    assert is_minimal(_case("send", "seek"), [lambda case: len(case.steps) == 2 or case.faults[0].optional]) is False


def _found(requirement: str, *also: str, minimal: bool = True) -> Found:
    return Found(
        requirement=requirement,
        code="lost",
        verdict="fail",
        sentence="",
        also=also,
        known_by=(),
        shape=(),
        case="",
        replay="",
        steps=1,
        faults=1,
        confirmed=3,
        tries=3,
        minimal=minimal,
        took_s=1.0,
        seen=1,
    )


def test_the_cause_that_is_named_after_a_requirement_comes_before_one_that_breaks_it_as_well() -> None:
    beside, named = _found("ordering.keeps-send-order", f"{LOST}: lost"), _found(LOST)
    assert first_of([beside, named], [LOST]) is named
    assert first_of([beside], [LOST]) is beside
    assert first_of([_found("ordering.keeps-send-order")], [LOST]) is None


def test_a_cause_that_became_small_comes_before_one_that_the_end_broke_off() -> None:
    broken_off, small = _found(LOST, minimal=False), _found(LOST)
    assert first_of([broken_off, small], [LOST]) is small
    assert first_of([broken_off, _found("ordering.keeps-send-order", LOST)], [LOST]) is broken_off
