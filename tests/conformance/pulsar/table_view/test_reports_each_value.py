"""What a listener of a table view is called with."""

from __future__ import annotations

from tests.conformance.pulsar.table_view.views import LONG_MS, Views, with_values

from assay_conformance.pulsar.checks.table_view.reports_each_value import reports_each_value


def reported(*values: int) -> Views:
    """Of a key that had value 1, and gets 2 and 3, the listener is called with these."""
    story = with_values(1, listener=True)
    story.writes(2)
    story.writes(3)
    for value in values:
        story.reports(value)
    story.after(LONG_MS)
    return story


def test_each_value_in_its_turn_is_accepted() -> None:
    assert reported(1, 2, 3).judged(reports_each_value) == ([], 3)


def test_value_that_is_passed_over_is_found() -> None:
    assert reported(1, 3).judged(reports_each_value)[0] == ["left-out"]


def test_value_that_comes_behind_a_later_one_is_found() -> None:
    assert reported(1, 2, 3, 2).judged(reports_each_value)[0] == ["out-of-order"]


def test_value_that_was_never_stored_is_found() -> None:
    assert reported(1, 2, 3, 9).judged(reports_each_value)[0] == ["never-stored"]


def test_value_that_is_not_reported_is_found() -> None:
    assert reported(1, 2).judged(reports_each_value)[0] == ["not-reported"]


def test_view_begins_with_the_last_of_several_writes_of_one_value() -> None:
    story = with_values(1, 1, listener=True)
    story.writes(2)
    story.reports(1)
    story.reports(2)
    story.after(LONG_MS)
    assert story.judged(reports_each_value) == ([], 2)
