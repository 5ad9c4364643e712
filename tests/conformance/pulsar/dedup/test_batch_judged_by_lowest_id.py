"""The check of `dedup.batch-judged-by-lowest-id`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.dedup._broker import judged

from assay_conformance.history.script import DUPLICATE, Script
from assay_conformance.pulsar.checks.dedup.batch_judged_by_lowest_id import batch_judged_by_lowest_id


def _old_and_new() -> Script:
    """A message with id 0 is stored, and a batch with the ids 0 to 3 comes."""
    story = Script()
    story.producer()
    story.send_frame(0)
    story.stored(0)
    story.receipt(0)
    story.send_frame(1, 2, 3, sequence_id=0, highest_sequence_id=3)
    return story


def test_batch_of_old_and_new_that_is_dropped_is_accepted() -> None:
    story = _old_and_new()
    story.receipt(0, id=DUPLICATE)
    assert judged(batch_judged_by_lowest_id, story) == ([], 1)


def test_batch_of_old_and_new_that_is_stored_is_found() -> None:
    story = _old_and_new()
    story.stored(1, 2, 3, sequence_id=0)
    story.receipt(0)
    assert judged(batch_judged_by_lowest_id, story)[0] == ["wrong-answer", "duplicate-stored"]
