"""The check of `robustness.send-without-producer-not-stored`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.robustness.send_without_producer_not_stored import send_without_producer_not_stored


def _stray() -> Script:
    """A SEND for producer 7, which nobody opened."""
    story = Script()
    story.producer()
    story.send_frame(0, producer_id=7)
    return story


def test_stray_send_that_is_not_stored_is_accepted() -> None:
    assert judged(send_without_producer_not_stored, _stray()) == ([], 1)


def test_stray_send_that_is_stored_is_found() -> None:
    story = _stray()
    story.stored(0)
    assert judged(send_without_producer_not_stored, story)[0] == ["stray-stored"]


def test_stray_send_that_its_producer_repeats_may_be_stored_once() -> None:
    story = _stray()
    story.send_frame(0)
    story.stored(0)
    assert judged(send_without_producer_not_stored, story)[0] == []
    story.stored(0)
    assert judged(send_without_producer_not_stored, story)[0] == ["stray-stored"]


def test_send_behind_the_close_of_its_producer_is_a_stray() -> None:
    story = Script()
    story.producer()
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=9)
    story.send_frame(0)
    story.stored(0)
    assert judged(send_without_producer_not_stored, story) == (["stray-stored"], 1)
