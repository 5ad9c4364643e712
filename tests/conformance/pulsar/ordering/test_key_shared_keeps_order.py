"""The check of `ordering.key-shared-keeps-order`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.ordering._key_order import sent

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.ordering.key_shared_keeps_order import key_shared_keeps_order


def judged(story: Script) -> tuple[list[str], int]:
    said = trial(key_shared_keeps_order, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _two() -> Script:
    """Two consumers, each on its connection."""
    story = Script()
    for conn in (0, 1):
        story.connected(conn)
        story.subscribed(conn, kind="Key_Shared")
        story.flow(100, conn=conn)
    return story


def test_key_that_changes_hands_when_all_is_acknowledged_is_accepted() -> None:
    story = _two()
    sent(story, 0, 0, 1)
    story.ack_frame(0, 1, conn=0)
    sent(story, 1, 2)
    assert judged(story) == ([], 1)


def test_key_that_changes_hands_too_soon_is_found() -> None:
    story = _two()
    sent(story, 0, 0, 1)
    story.ack_frame(0, conn=0)
    sent(story, 1, 2)
    assert judged(story)[0] == ["key-at-two-consumers"]


def test_entry_that_was_asked_for_again_may_go_to_another() -> None:
    story = _two()
    sent(story, 0, 0)
    story.redeliver_frame(0, conn=0)
    sent(story, 1, 0)
    assert judged(story)[0] == []


def test_what_a_consumer_left_behind_comes_first() -> None:
    story = _two()
    sent(story, 0, 0, 1)
    story.cut(0)
    sent(story, 1, 0, 1, 2)
    assert judged(story) == ([], 1)


def test_entry_that_overtakes_what_was_left_behind_is_found() -> None:
    story = _two()
    sent(story, 0, 0, 1)
    story.cut(0)
    sent(story, 1, 0, 2, 1)
    assert judged(story)[0] == ["key-out-of-order"]


def test_key_changes_hands_behind_the_second_acknowledgment_when_the_first_came_to_nobody() -> None:
    story = _two()
    sent(story, 0, 0)
    story.ack_frame(0, conn=0)
    sent(story, 0, 0)
    story.ack_frame(0, conn=0)
    sent(story, 1, 1)
    assert judged(story) == ([], 1)


def test_what_was_acknowledged_before_its_consumer_left_does_not_come_first() -> None:
    story = _two()
    sent(story, 0, 0, 1)
    story.ack_frame(0, conn=0)
    story.cut(0)
    sent(story, 1, 1, 2)
    assert judged(story)[0] == []


def test_entry_that_goes_out_behind_a_later_one_is_found() -> None:
    story = _two()
    sent(story, 0, 1, 0)
    assert judged(story)[0] == ["key-out-of-order"]


def test_entries_without_a_key_have_no_order() -> None:
    story = _two()
    sent(story, 0, 1, key=None)
    sent(story, 1, 0, key=None)
    assert judged(story) == ([], 0)


def test_batch_that_is_acknowledged_in_part_was_sent_before() -> None:
    story = _two()
    sent(story, 0, 0, 1)
    story.ack_frame(0, conn=0, ack_sets=((0b10,),))
    story.redeliver_frame(0, conn=0)
    sent(story, 0, 0)
    assert judged(story)[0] == []
