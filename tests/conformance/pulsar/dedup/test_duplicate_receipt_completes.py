"""The check of `dedup.duplicate-receipt-completes`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.dedup._histories import CASE, lost_receipt

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import DUPLICATE, Script
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import ErrorClass, Undecodable
from assay_conformance.pulsar.checks.dedup.duplicate_receipt_completes import duplicate_receipt_completes


def _duplicate() -> Script:
    story = lost_receipt()
    story.receipt(0, conn=1, id=DUPLICATE)
    return story


def test_send_completed_by_a_duplicates_receipt_is_accepted() -> None:
    story = _duplicate()
    story.ok(0)
    check = trial(duplicate_receipt_completes, story.done())
    assert (check.findings, check.exercised) == ([], 1)


def test_send_failed_by_a_duplicates_receipt_is_found() -> None:
    story = _duplicate()
    story.unknown(0, ErrorClass.OTHER)
    assert codes_of(trial(duplicate_receipt_completes, story.done())) == ["not-completed"]


def test_send_whose_time_was_up_as_a_duplicates_receipt_came_is_accepted() -> None:
    story = _duplicate()
    story.after(5).unknown(0, ErrorClass.TIMEOUT)
    assert codes_of(trial(duplicate_receipt_completes, story.done())) == []


def test_send_left_open_by_a_duplicates_receipt_is_found() -> None:
    assert codes_of(trial(duplicate_receipt_completes, _duplicate().at(20_000).done())) == ["not-completed"]


def test_duplicates_receipt_around_a_cut_proves_nothing() -> None:
    story = _duplicate()
    story.cut(1)
    check = trial(duplicate_receipt_completes, story.at(20_000).done())
    assert (check.findings, check.exercised) == ([], 0)


def test_duplicates_receipt_behind_bytes_that_are_no_frame_need_not_be_read() -> None:
    story = lost_receipt()
    story.add(Undecodable, conn=1, dir=Direction.TO_CLIENT, reason="no command")
    story.receipt(0, conn=1, id=DUPLICATE)
    story.at(2_000).unknown(0, ErrorClass.TIMEOUT)
    assert codes_of(trial(duplicate_receipt_completes, story.done())) == []


def test_duplicates_receipt_behind_the_end_of_the_producer_is_for_nobody() -> None:
    story = lost_receipt()
    story.down("CLOSE_PRODUCER", 1, producer_id=0)
    story.receipt(0, conn=1, id=DUPLICATE)
    story.at(2_000).unknown(0)
    assert codes_of(trial(duplicate_receipt_completes, story.done())) == []


def test_duplicate_receipt_behind_the_end_of_its_producer_is_not_judged() -> None:
    story = lost_receipt(2)
    story.down("SEND_ERROR", 1, producer_id=0, sequence_id=0, fields={"error": "TopicTerminatedError"})
    story.receipt(1, conn=1, id=DUPLICATE)
    for number in (0, 1):
        story.unknown(number, ErrorClass.TERMINATED)
    assert codes_of(trial(duplicate_receipt_completes, story.done(), CASE)) == []
