"""Failures that show in the same Cases are told together."""

from __future__ import annotations

from assay_reports.causes import together


def _cases(**kinds: str) -> dict[str, frozenset[str]]:
    return {kind: frozenset(cases.split()) for kind, cases in kinds.items()}


def test_what_shows_in_the_same_cases_is_told_together_the_most_frequent_first() -> None:
    assert together(_cases(copies="a b", lost="a b c", order="a b c")) == [["lost", "order", "copies"]]


def test_what_shows_once_beside_something_frequent_is_told_by_itself() -> None:
    assert together(_cases(lost="a b c d e", hangs="a")) == [["lost"], ["hangs"]]


def test_what_shows_in_other_cases_is_told_by_itself() -> None:
    assert together(_cases(lost="a b", hangs="c d")) == [["lost"], ["hangs"]]


def test_nothing_has_no_cause() -> None:
    assert together({}) == []
