"""What a table view holds when it has opened."""

from __future__ import annotations

from tests.conformance.pulsar.table_view.views import with_values

from assay_conformance.pulsar.checks.table_view.holds_what_was_stored import holds_what_was_stored


def test_newest_value_is_accepted() -> None:
    story = with_values(1, 2)
    story.reads(k=2)
    assert story.judged(holds_what_was_stored) == ([], 1)


def test_value_that_came_while_it_opened_is_accepted() -> None:
    story = with_values(1)
    story.writes(2)
    story.reads(k=2)
    assert story.judged(holds_what_was_stored) == ([], 1)


def test_older_value_is_found() -> None:
    story = with_values(1, 2)
    story.reads(k=1)
    assert story.judged(holds_what_was_stored) == (["another-value"], 0)


def test_key_that_is_missing_is_found() -> None:
    story = with_values(1)
    story.reads()
    assert story.judged(holds_what_was_stored) == (["missing"], 0)


def test_key_that_was_removed_is_found_where_it_is_still_there() -> None:
    story = with_values(1, 0)
    story.reads(k=1)
    assert story.judged(holds_what_was_stored) == (["another-value"], 0)


def test_key_that_was_removed_and_is_not_there_is_accepted() -> None:
    story = with_values(1, 0)
    story.reads()
    assert story.judged(holds_what_was_stored) == ([], 1)


def test_key_that_was_never_stored_is_found() -> None:
    story = with_values()
    story.reads(k=1)
    assert story.judged(holds_what_was_stored) == (["another-value"], 0)
