"""What makes a run that was made again another one."""

from __future__ import annotations

import pytest
from bench.repeated import again

from assay_conformance.model.requirement import RequirementId
from assay_reports.compare import CellDifference, Comparison
from assay_reports.deviations import Occurs
from assay_reports.expectations import Expectation


def told(before: str, after: str, only_after: tuple[str, ...] = (), case: str = "resend/cut") -> Comparison:
    cell = CellDifference(requirement="resend.keeps-order", case=case, before=before, after=after)
    return Comparison(circumstances=(), requirements=(), cells=(cell,), only_before=(), only_after=only_after)


def listed(case: str, occurs: Occurs = Occurs.ALWAYS) -> Expectation:
    return Expectation(
        requirement=RequirementId("resend.keeps-order"),
        case=case,
        code="reordered",
        versions="*",
        reason="It is known to do that.",
        occurs=occurs,
    )


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("no finding", "fail (reordered)", False),
        ("fail (lost)", "fail (reordered)", False),
        ("fail (lost)", "no finding", False),
        ("no finding", "inconclusive", True),
        ("inconclusive", "no finding", True),
    ],
)
def test_only_what_was_left_open_may_differ(before: str, after: str, same: bool) -> None:
    assert again(True, told(before, after)).is_same is same


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("fail (lost)", "fail (lost, reordered)", True),
        ("no finding", "fail (reordered)", True),
        ("fail (reordered)", "fail (lost)", False),
        ("fail (lost)", "untestable", False),
    ],
)
def test_what_is_listed_as_coming_and_going_may_differ(before: str, after: str, same: bool) -> None:
    entry = listed("resend/cut", Occurs.SOMETIMES)
    assert again(True, told(before, after), [entry]).is_same is same
    assert not again(True, told(before, after), [listed("resend/other", Occurs.SOMETIMES)]).is_same


@pytest.mark.parametrize(
    ("entry", "case", "same"),
    [
        ("resend/cut", "resend/cut", False),
        ("resend/cut", "resend/cut@batched", True),
        ("@batched", "resend/cut@batched", True),
        ("@batched", "resend/cut@lz4", False),
    ],
)
def test_what_is_listed_need_not_show_in_a_permutation(entry: str, case: str, same: bool) -> None:
    assert again(True, told("fail (reordered)", "no finding", case=case), [listed(entry)]).is_same is same


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("fail (lost, reordered)", "fail (lost)", True),
        ("no finding", "fail (reordered)", True),
        ("fail (lost, reordered)", "fail (reordered)", False),
    ],
)
def test_on_a_busy_machine_a_listed_failure_may_show_in_other_cases(before: str, after: str, same: bool) -> None:
    entry = listed("resend/other")
    assert again(True, told(before, after), [entry], busy=True).is_same is same
    assert not again(True, told(before, after), [entry]).is_same


def test_another_plan_is_another_run() -> None:
    assert not again(False, told("no finding", "inconclusive")).is_same


def test_a_case_that_only_one_run_judged_is_another_run() -> None:
    assert not again(True, told("no finding", "inconclusive", ("resend/cut",))).is_same


@pytest.mark.parametrize(
    ("after", "exits", "same"),
    [
        ("fail (reordered)", (0, 0), True),
        ("fail (reordered)", (0, 1), False),
        ("inconclusive", (0, 3), True),
        ("inconclusive", (0, 1), False),
        ("inconclusive", (3, 1), False),
    ],
)
def test_a_run_that_ends_otherwise_is_another_run_unless_it_is_for_what_was_left_open(
    after: str, exits: tuple[int, int], same: bool
) -> None:
    entry = listed("resend/other")
    assert again(True, told("no finding", after), [entry], busy=True, exits=exits).is_same is same
