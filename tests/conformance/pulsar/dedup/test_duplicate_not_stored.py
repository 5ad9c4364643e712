"""The check of `dedup.duplicate-not-stored`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.dedup._broker import judged
from tests.conformance.pulsar.dedup._histories import CASE, lost_receipt

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import DUPLICATE, Script
from assay_conformance.model.case import Step, Who
from assay_conformance.pulsar.checks.dedup.duplicate_not_stored import duplicate_not_stored


def _duplicate_refused() -> Script:
    """A receipted message comes again and is a duplicate; what is stored is not told yet."""
    story = Script()
    story.producer()
    story.send_frame(0)
    story.receipt(0)
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    story.receipt(0, conn=1, id=DUPLICATE)
    return story


def test_entries_that_are_told_at_the_end_are_stored_once() -> None:
    story = _duplicate_refused()
    story.stored(0)
    assert judged(duplicate_not_stored, story) == ([], 1)


def test_entries_that_are_told_at_the_end_show_a_duplicate() -> None:
    story = _duplicate_refused()
    story.stored(0)
    story.stored(0)
    assert judged(duplicate_not_stored, story)[0] == ["duplicate-stored"]


def test_duplicate_answered_without_id_is_accepted() -> None:
    story = lost_receipt()
    story.receipt(0, conn=1, id=DUPLICATE)
    check = trial(duplicate_not_stored, story.done(), CASE)
    assert (check.findings, check.exercised) == ([], 1)


def test_duplicate_stored_again_is_found() -> None:
    story = lost_receipt()
    story.stored(0)
    story.receipt(0, conn=1, id=DUPLICATE)
    assert codes_of(trial(duplicate_not_stored, story.done(), CASE)) == ["duplicate-stored"]


def test_duplicate_answered_as_new_is_found() -> None:
    story = lost_receipt()
    story.receipt(0, conn=1)
    assert codes_of(trial(duplicate_not_stored, story.done(), CASE)) == ["wrong-answer"]


def test_duplicate_answered_with_error_is_found() -> None:
    story = lost_receipt()
    story.down("SEND_ERROR", 1, producer_id=0, sequence_id=0, fields={"error": "PersistenceError"})
    assert codes_of(trial(duplicate_not_stored, story.done(), CASE)) == ["wrong-answer"]


def test_error_for_a_copy_whose_first_is_not_stored_yet_is_accepted() -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    story.down("SEND_ERROR", 1, producer_id=0, sequence_id=0, fields={"error": "PersistenceError"})
    story.stored(0)
    assert codes_of(trial(duplicate_not_stored, story.done(), CASE)) == []


def test_topic_without_deduplication_is_not_judged() -> None:
    story = lost_receipt()
    story.stored(0)
    story.receipt(0, conn=1)
    assert codes_of(trial(duplicate_not_stored, story.done())) == []


def test_topic_whose_policy_changes_is_not_judged() -> None:
    change = Step(Who.BROKER, "set_policy", {"topic": "t", "deduplication": False})
    story = lost_receipt()
    story.stored(0)
    case = msgspec.structs.replace(CASE, steps=(change,))
    assert codes_of(trial(duplicate_not_stored, story.done(), case)) == []
