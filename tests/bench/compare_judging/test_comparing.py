"""What counts as a difference between what two checkouts say of one history."""

from __future__ import annotations

import pytest
from bench.compare_judging.comparing import Difference, Kind, Renames, compared, differences
from bench.compare_judging.results import Found, Judged, Said

SAME = Renames()
ONE: Found = ("reordered", (4, 9))


def judged(
    *findings: Found, exercised: int = 3, verdict: str = "", requirement: str = "a.one", **rest: object
) -> Judged:
    verdict = verdict or ("fail" if findings else "pass")
    said = Said(verdict, exercised, tuple(range(exercised)), findings, **rest)  # type: ignore[arg-type]
    return Judged("part", "case/1", said={requirement: said})


def kinds(before: Judged, after: Judged, renames: Renames = SAME) -> list[tuple[str, Kind]]:
    return [(one.requirement, one.kind) for one in differences(before, after, renames)]


def test_the_same_findings_are_no_difference() -> None:
    assert kinds(judged(ONE), judged(ONE)) == []


def test_a_finding_that_is_gone_is_reported_with_its_history_and_what_is_said_now() -> None:
    (found,) = differences(judged(ONE), judged(), SAME)
    assert found == Difference("a.one", Kind.LOST, "part:case/1", "reordered [4, 9]; now pass")


def test_a_finding_that_was_not_there_is_reported() -> None:
    assert kinds(judged(), judged(ONE)) == [("a.one", Kind.NEW)]


def test_one_of_two_equal_findings_that_is_gone_is_reported() -> None:
    assert kinds(judged(ONE, ONE), judged(ONE)) == [("a.one", Kind.LOST)]


def test_a_finding_with_an_event_in_common_is_the_same_one_with_other_events() -> None:
    assert kinds(judged(ONE), judged(("reordered", (5, 9)))) == [("a.one", Kind.OTHER_EVENTS)]


@pytest.mark.parametrize("other", [("repeated", (4, 9)), ("reordered", (5, 8))])
def test_another_code_or_no_event_in_common_is_another_finding(other: Found) -> None:
    assert kinds(judged(ONE), judged(other)) == [("a.one", Kind.LOST), ("a.one", Kind.NEW)]


def test_fewer_occasions_are_reported_with_those_that_are_gone() -> None:
    (found,) = differences(judged(exercised=3), judged(exercised=1), SAME)
    assert (found.kind, found.detail) == (Kind.FEWER, "3 -> 1, no more: [1, 2]; now pass")


def test_what_could_not_be_judged_of_them_is_named() -> None:
    (found,) = differences(judged(exercised=3), judged(exercised=2, not_judged={"the end is not known": 1}), SAME)
    assert found.detail == "3 -> 2, no more: [2]; now pass (1 not judged: the end is not known)"


def test_more_occasions_are_no_difference() -> None:
    assert kinds(judged(exercised=1), judged(exercised=3)) == []


def test_a_check_that_is_gone_is_reported_where_it_was_exercised() -> None:
    assert kinds(judged(), Judged("part", "case/1")) == [("a.one", Kind.FEWER)]


def test_a_requirement_that_is_exercised_only_after_is_no_difference() -> None:
    assert kinds(Judged("part", "case/1"), judged()) == []


def test_a_requirement_that_is_left_open_only_after_is_reported_with_the_reason() -> None:
    (found,) = differences(judged(), judged(verdict="inconclusive", reason="the end is not known"), SAME)
    assert (found.kind, found.detail) == (Kind.VERDICT, "pass -> inconclusive (the end is not known)")


def test_weaker_evidence_is_reported() -> None:
    assert kinds(judged(ONE, grades={"A": 1}), judged(ONE, grades={"C": 1})) == [("a.one", Kind.GRADE)]


def test_what_is_renamed_is_compared_under_its_new_id() -> None:
    renames = Renames({"a.one": "b.new"}, {("b.new", "reordered"): "out-of-order"})
    after = judged(("out-of-order", (4, 9)), requirement="b.new")
    assert kinds(judged(ONE), after, renames) == []


def test_an_id_that_moved_without_a_line_in_the_table_is_reported_on_both_sides() -> None:
    found = kinds(judged(ONE), judged(ONE, requirement="b.new"))
    assert found == [("a.one", Kind.LOST), ("a.one", Kind.FEWER), ("b.new", Kind.NEW)]


def test_a_history_that_only_one_side_can_judge_is_reported_once() -> None:
    after = Judged("part", "case/1", trouble="UsageError: no such field")
    assert kinds(judged(ONE), after) == [("", Kind.NOT_JUDGED)]


def test_histories_that_were_not_chosen_are_not_compared() -> None:
    assert list(compared([judged(ONE)], [], SAME)) == []
