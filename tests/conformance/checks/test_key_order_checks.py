"""The order of a key while consumers come and go, both ways. Entries 0, 1, ... are all of key k."""

from __future__ import annotations

from assay_conformance.checks.key_order import KeySharedKeepsOrder
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import NAME, Script
from assay_conformance.model.event import Meta


def judged(story: Script) -> tuple[list[str], int]:
    said = trial(KeySharedKeepsOrder, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _two() -> Script:
    """Two consumers, each on its connection."""
    story = Script()
    for conn in (0, 1):
        story.connected(conn)
        story.subscribed(conn, kind="Key_Shared")
        story.flow(100, conn=conn)
    return story


def _sent(story: Script, conn: int, *entries: int, key: str | None = "k") -> None:
    for entry in entries:
        story.message(entry, conn=conn, meta=Meta(producer_name=NAME, sequence_id=entry, key=key))


def test_key_that_changes_hands_when_all_is_acknowledged_is_accepted() -> None:
    story = _two()
    _sent(story, 0, 0, 1)
    story.ack_frame(0, 1, conn=0)
    _sent(story, 1, 2)
    assert judged(story) == ([], 1)


def test_key_that_changes_hands_too_soon_is_found() -> None:
    story = _two()
    _sent(story, 0, 0, 1)
    story.ack_frame(0, conn=0)
    _sent(story, 1, 2)
    assert judged(story)[0] == ["key-at-two-consumers"]


def test_entry_that_was_asked_for_again_may_go_to_another() -> None:
    story = _two()
    _sent(story, 0, 0)
    story.redeliver_frame(0, conn=0)
    _sent(story, 1, 0)
    assert judged(story)[0] == []


def test_what_a_consumer_left_behind_comes_first() -> None:
    story = _two()
    _sent(story, 0, 0, 1)
    story.cut(0)
    _sent(story, 1, 0, 1, 2)
    assert judged(story) == ([], 1)


def test_entry_that_overtakes_what_was_left_behind_is_found() -> None:
    story = _two()
    _sent(story, 0, 0, 1)
    story.cut(0)
    _sent(story, 1, 0, 2, 1)
    assert judged(story)[0] == ["key-out-of-order"]


def test_key_changes_hands_behind_the_second_acknowledgment_when_the_first_came_to_nobody() -> None:
    story = _two()
    _sent(story, 0, 0)
    story.ack_frame(0, conn=0)
    _sent(story, 0, 0)
    story.ack_frame(0, conn=0)
    _sent(story, 1, 1)
    assert judged(story) == ([], 1)


def test_what_was_acknowledged_before_its_consumer_left_does_not_come_first() -> None:
    story = _two()
    _sent(story, 0, 0, 1)
    story.ack_frame(0, conn=0)
    story.cut(0)
    _sent(story, 1, 1, 2)
    assert judged(story)[0] == []


def test_entry_that_goes_out_behind_a_later_one_is_found() -> None:
    story = _two()
    _sent(story, 0, 1, 0)
    assert judged(story)[0] == ["key-out-of-order"]


def test_entries_without_a_key_have_no_order() -> None:
    story = _two()
    _sent(story, 0, 1, key=None)
    _sent(story, 1, 0, key=None)
    assert judged(story) == ([], 0)


def test_batch_that_is_acknowledged_in_part_was_sent_before() -> None:
    story = _two()
    _sent(story, 0, 0, 1)
    story.ack_frame(0, conn=0, ack_sets=((0b10,),))
    story.redeliver_frame(0, conn=0)
    _sent(story, 0, 0)
    assert judged(story)[0] == []
