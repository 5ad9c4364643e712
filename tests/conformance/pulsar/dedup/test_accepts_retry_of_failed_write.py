"""The check of `dedup.accepts-retry-of-failed-write`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.dedup._broker import judged

from assay_conformance.history.script import DUPLICATE, Script
from assay_conformance.model.event import Fate, Sides
from assay_conformance.pulsar.checks.dedup.accepts_retry_of_failed_write import accepts_retry_of_failed_write
from assay_conformance.wire.answers import UNKNOWN_COPY


def _refused(story: Script, sequence_id: int, conn: int = 0, message: str = "Not enough bookies") -> None:
    fields = {"error": "PersistenceError", "message": message}
    story.down("SEND_ERROR", conn, producer_id=0, sequence_id=sequence_id, fields=fields)


def _failed_write() -> Script:
    """A write fails; the SEND comes again."""
    story = Script()
    story.producer()
    story.send_frame(0)
    _refused(story, 0)
    story.send_frame(0)
    return story


def test_failed_write_that_is_made_up_for_is_accepted() -> None:
    story = _failed_write()
    story.stored(0)
    story.receipt(0)
    assert judged(accepts_retry_of_failed_write, story) == ([], 1)


def test_retry_that_is_refused_for_its_failed_predecessor_is_found() -> None:
    story = _failed_write()
    _refused(story, 0, message=f"[t][p]{UNKNOWN_COPY}")
    assert judged(accepts_retry_of_failed_write, story)[0] == ["retry-not-taken"]


def test_retry_that_is_taken_for_a_duplicate_is_found() -> None:
    story = _failed_write()
    story.receipt(0, id=DUPLICATE)
    assert judged(accepts_retry_of_failed_write, story)[0] == ["retry-not-taken"]


def test_retry_that_cannot_be_written_either_tells_nothing() -> None:
    story = _failed_write()
    _refused(story, 0)
    assert judged(accepts_retry_of_failed_write, story) == ([], 0)


def test_last_of_several_retries_is_judged() -> None:
    story = _failed_write()
    _refused(story, 0)
    story.send_frame(0)
    story.receipt(0, id=DUPLICATE)
    assert judged(accepts_retry_of_failed_write, story)[0] == ["retry-not-taken"]


def test_another_send_of_its_id_that_may_be_a_copy_says_nothing_of_a_retry_that_is_still_being_written() -> None:
    story = _failed_write()
    story.send_frame(0)
    _refused(story, 0, message=UNKNOWN_COPY)
    assert judged(accepts_retry_of_failed_write, story) == ([], 0)
    story = _failed_write()
    story.send_frame(0)
    _refused(story, 0, message=UNKNOWN_COPY)
    story.stored(0)
    story.receipt(0)
    assert judged(accepts_retry_of_failed_write, story) == ([], 1)


def test_retry_that_is_refused_behind_another_send_of_its_id_is_found() -> None:
    story = _failed_write()
    story.send_frame(0)
    for _ in range(2):
        _refused(story, 0, message=UNKNOWN_COPY)
    assert judged(accepts_retry_of_failed_write, story)[0] == ["retry-not-taken"]


def test_the_refusal_of_a_frame_that_a_fault_repeated_says_nothing_of_the_first() -> None:
    story = Script()
    story.producer()
    sent = story.send_frame(0, sides=Sides.SENDER, fate=Fate.DUPLICATED)
    story.send_frame(0, sides=Sides.RECEIVER, frame=sent.frame)
    story.send_frame(0, sides=Sides.RECEIVER, fate=Fate.DUPLICATED, frame=sent.frame)
    _refused(story, 0, message=UNKNOWN_COPY)
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    _refused(story, 0, conn=1, message=UNKNOWN_COPY)
    assert judged(accepts_retry_of_failed_write, story) == ([], 0)


def test_copy_of_what_may_still_be_written_is_not_judged() -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.cut()
    story.producer_again(1)
    for _ in range(2):
        story.send_frame(0, conn=1)
        _refused(story, 0, conn=1)
    assert judged(accepts_retry_of_failed_write, story) == ([], 0)
