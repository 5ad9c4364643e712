"""The check of `dedup.records-highest-sequence-id`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.dedup._broker import judged

from assay_conformance.history.script import DUPLICATE, NAME, Script
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.checks.dedup.records_highest_sequence_id import records_highest_sequence_id


def _batch_stored() -> Script:
    """A batch with the ids 0 to 3 is stored and receipted."""
    story = Script()
    story.producer()
    meta = Meta(producer_name=NAME, sequence_id=0, highest_sequence_id=3, batch=4)
    story.send_frame(0, 1, 2, 3, highest_sequence_id=3, meta=meta)
    story.stored(0, 1, 2, 3, meta=meta)
    story.receipt(0)
    return story


def test_id_from_within_a_batch_that_is_a_duplicate_is_accepted() -> None:
    story = _batch_stored()
    story.send_frame(2)
    story.receipt(2, id=DUPLICATE)
    assert judged(records_highest_sequence_id, story) == ([], 1)


def test_id_from_within_a_batch_that_is_stored_is_found() -> None:
    story = _batch_stored()
    story.send_frame(2)
    story.stored(2)
    story.receipt(2)
    assert judged(records_highest_sequence_id, story)[0] == ["wrong-answer", "duplicate-stored"]


def test_id_behind_a_batch_is_new() -> None:
    story = _batch_stored()
    story.send_frame(4)
    story.stored(4)
    story.receipt(4)
    assert judged(records_highest_sequence_id, story) == ([], 0)


def test_batch_that_comes_again_is_another_requirements_matter() -> None:
    story = _batch_stored()
    story.send_frame(0, 1, 2, 3, highest_sequence_id=3)
    story.receipt(0, id=DUPLICATE)
    assert judged(records_highest_sequence_id, story) == ([], 0)
