"""The check of `dedup.markers-are-exempt`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.dedup._broker import MARKED, judged

from assay_conformance.history.script import DUPLICATE, Script
from assay_conformance.pulsar.checks.dedup.markers_are_exempt import markers_are_exempt


def _marked(id: int) -> Script:
    """A message with id 5, and a marker."""
    story = Script()
    story.producer()
    story.send_frame(5)
    story.receipt(5)
    story.send_frame(6, sequence_id=id, fields={"marker": True})
    return story


def test_marker_with_an_old_id_that_is_stored_is_accepted() -> None:
    story = _marked(5)
    story.receipt(5)
    assert judged(markers_are_exempt, story, MARKED) == ([], 1)


def test_marker_that_is_taken_for_a_copy_is_found() -> None:
    story = _marked(5)
    story.receipt(5, id=DUPLICATE)
    assert judged(markers_are_exempt, story, MARKED)[0] == ["compared"]


def test_answer_that_may_be_that_to_another_message_with_the_markers_id_tells_nothing() -> None:
    story = Script()
    story.producer()
    story.send_frame(5)
    story.send_frame(6, sequence_id=5, fields={"marker": True})
    story.receipt(5, id=DUPLICATE)
    assert judged(markers_are_exempt, story, MARKED) == ([], 0)


def test_message_with_an_id_below_a_markers_that_is_stored_is_accepted() -> None:
    story = _marked(50)
    story.receipt(50)
    story.send_frame(7)
    story.receipt(7)
    assert judged(markers_are_exempt, story, MARKED) == ([], 1)


def test_message_that_a_fault_called_a_marker_is_none_in_the_log_that_a_broker_reads_anew() -> None:
    """It was stored as any other, and the topic has moved since: its id counts there."""
    story = _marked(50)
    story.cut()
    story.producer_again(1)
    story.send_frame(7, conn=1)
    story.receipt(7, conn=1, id=DUPLICATE)
    assert judged(markers_are_exempt, story, MARKED) == ([], 0)


def test_message_that_is_taken_for_a_copy_of_a_marker_is_found() -> None:
    story = _marked(50)
    story.receipt(50)
    story.send_frame(7)
    story.receipt(7, id=DUPLICATE)
    assert judged(markers_are_exempt, story, MARKED)[0] == ["remembered"]
