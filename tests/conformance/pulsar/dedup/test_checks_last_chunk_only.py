"""The check of `dedup.checks-last-chunk-only`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.dedup._broker import judged

from assay_conformance.history.script import DUPLICATE, NAME, Script
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.checks.dedup.checks_last_chunk_only import checks_last_chunk_only


def _chunks(story: Script, conn: int = 0) -> None:
    for chunk in range(3):
        meta = Meta(producer_name=NAME, sequence_id=0, chunk_id=chunk, chunks=3, uuid="u")
        story.send_frame(0, conn=conn, unit=chunk, meta=meta)


def _chunks_again() -> Script:
    """Three chunks of one message are stored, and come again."""
    story = Script()
    story.producer()
    _chunks(story)
    for entry in range(3):
        story.stored(0, entry=entry)
    story.cut()
    story.producer_again(1)
    _chunks(story, conn=1)
    return story


def test_chunks_that_are_stored_again_but_the_last_are_accepted() -> None:
    story = _chunks_again()
    story.receipt(0, conn=1)
    story.receipt(0, conn=1)
    story.receipt(0, conn=1, id=DUPLICATE)
    assert judged(checks_last_chunk_only, story) == ([], 2)


def test_duplicates_receipt_that_overtakes_those_of_earlier_chunks_is_accepted() -> None:
    story = _chunks_again()
    story.receipt(0, conn=1, id=DUPLICATE)
    story.receipt(0, conn=1)
    story.receipt(0, conn=1)
    assert judged(checks_last_chunk_only, story) == ([], 2)


def test_early_chunk_that_is_taken_for_a_duplicate_is_found() -> None:
    story = _chunks_again()
    for _ in range(3):
        story.receipt(0, conn=1, id=DUPLICATE)
    assert judged(checks_last_chunk_only, story)[0] == ["chunk-dropped", "chunk-dropped"]


def test_last_chunk_that_is_taken_for_a_duplicate_of_the_first_is_found() -> None:
    story = Script()
    story.producer()
    _chunks(story)
    story.receipt(0)
    story.receipt(0)
    story.receipt(0, id=DUPLICATE)
    assert judged(checks_last_chunk_only, story)[0] == ["chunk-dropped"]
