"""The check of `dedup.sequence-gaps-accepted`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.dedup._broker import MARKED, judged

from assay_conformance.history.script import DUPLICATE, NAME, Script
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.checks.dedup.sequence_gaps_accepted import sequence_gaps_accepted


def _with_a_gap() -> Script:
    story = Script()
    story.producer()
    for number, id in ((0, 3), (1, 9)):
        story.send_frame(number, sequence_id=id)
    story.receipt(3)
    return story


def test_id_far_above_the_last_is_stored() -> None:
    story = _with_a_gap()
    story.receipt(9)
    assert judged(sequence_gaps_accepted, story) == ([], 1)


def test_id_far_above_the_last_that_is_sent_again_may_have_been_stored() -> None:
    story = _with_a_gap()
    story.producer_ready()
    story.send_frame(1, sequence_id=9)
    story.receipt(9, id=DUPLICATE)
    assert judged(sequence_gaps_accepted, story) == ([], 0)


def test_id_below_those_of_chunks_is_no_gap() -> None:
    story = Script()
    story.producer()
    story.send_frame(0, sequence_id=3)
    story.send_frame(1, sequence_id=20, meta=Meta(producer_name=NAME, sequence_id=20, chunk_id=1, chunks=2))
    story.send_frame(2, sequence_id=9)
    story.receipt(9, id=DUPLICATE)
    assert judged(sequence_gaps_accepted, story) == ([], 0)


def test_where_sends_are_called_markers_what_was_stored_may_have_had_another_id() -> None:
    """What is stored tells the id that its producer gave it, and that is what whoever loads the topic reads."""
    story = _with_a_gap()
    story.receipt(9, id=DUPLICATE)
    assert judged(sequence_gaps_accepted, story, MARKED) == ([], 0)


def test_id_far_above_the_last_that_is_taken_for_a_copy_is_found() -> None:
    story = _with_a_gap()
    story.receipt(9, id=DUPLICATE)
    assert judged(sequence_gaps_accepted, story)[0] == ["taken-for-a-copy"]
