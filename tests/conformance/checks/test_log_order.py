"""Entries that the bench learned of late are judged where they lie."""

from __future__ import annotations

from assay_conformance.checks.log_order import in_log_order
from assay_conformance.history.script import MS, Script
from assay_conformance.model.event import Event, Stored


def entries(events: object) -> list[tuple[int, int]]:
    """(entry, seq) of the stored ones, in order."""
    assert isinstance(events, list | tuple)
    return [(event.id.entry, event.seq) for event in events if isinstance(event, Stored)]


def test_history_in_order_is_left_alone() -> None:
    story = Script()
    story.stored(0)
    story.stored(1)
    events: tuple[Event, ...] = tuple(story.done())
    assert in_log_order(events) is events


def test_entry_told_at_the_end_comes_before_the_one_that_lies_behind_it() -> None:
    story = Script()
    story.stored(0)
    behind = story.stored(2, entry=2)
    told = story.stored(1, entry=1)
    last = story.stored(3, entry=3)
    ordered = in_log_order(tuple(story.done()))
    assert [entry for entry, _ in entries(ordered)] == [0, 1, 2, 3]
    (moved,) = (event for event in ordered if event.seq == told.seq)
    assert moved.t_ns == behind.t_ns
    assert list(ordered).index(moved) == list(ordered).index(behind) - 1
    assert last in ordered


def test_several_late_entries_keep_the_order_of_the_log() -> None:
    story = Script()
    story.stored(3, entry=3)
    story.stored(1, entry=1)
    story.stored(2, entry=2)
    story.stored(0, entry=0)
    assert [entry for entry, _ in entries(in_log_order(tuple(story.done())))] == [0, 1, 2, 3]


def test_topics_do_not_move_each_other() -> None:
    story = Script()
    story.stored(5, entry=5, topic="a")
    story.stored(1, entry=1, topic="b")
    events = tuple(story.done())
    assert in_log_order(events) is events


def test_entry_that_nothing_lies_behind_stays_where_it_was_told() -> None:
    story = Script()
    story.stored(0)
    story.at(50)
    told = story.stored(1)
    ordered = in_log_order(tuple(story.done()))
    assert next(event for event in ordered if event.seq == told.seq).t_ns >= 50 * MS
