"""What goes on at an event, of things that begin and end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay_conformance.judging.intervals import Interval, Intervals

_SPANS = st.lists(st.tuples(st.integers(0, 20), st.none() | st.integers(0, 20)), max_size=30)


@given(_SPANS, st.integers(-1, 21))
def test_names_all_that_has_begun_and_is_not_over_in_order_of_its_beginning(
    spans: list[tuple[int, int | None]], at: int
) -> None:
    tree = Intervals(Interval(since, until, number) for number, (since, until) in enumerate(spans))
    there = [number for number, (since, until) in enumerate(spans) if since <= at and (until is None or at <= until)]
    assert [*tree.at(at)] == sorted(there, key=lambda number: spans[number][0])


def test_another_order_is_kept() -> None:
    tree = Intervals((Interval(since, None, since) for since in range(5)), order=lambda one: -one.thing)
    assert [*tree.at(3)] == [3, 2, 1, 0]


def test_nothing_goes_on_where_there_is_nothing() -> None:
    assert not Intervals[int](()).any_at(0)
