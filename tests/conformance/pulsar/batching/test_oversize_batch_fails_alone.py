"""The check of `batching.oversize-batch-fails-alone`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged

from assay_conformance.history.script import Script
from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.checks.batching.oversize_batch_fails_alone import oversize_batch_fails_alone

LIMIT = 1_000


def _before_the_flush(size: int) -> Script:
    """Two messages, a flush, and a third one, of a producer that batches."""
    story = Script()
    story.producer(batching=True)
    story.down("CONNECTED", fields={"max_message_size": LIMIT})
    for number in range(2):
        story.send(number, size=size)
    story.invoke("flush", 1)
    story.send(2)
    return story


def test_messages_of_a_batch_that_is_too_large_may_fail() -> None:
    story = _before_the_flush(600)
    for number in range(2):
        story.fail(number, ErrorClass.TOO_LARGE)
    story.ok(2)
    assert judged(oversize_batch_fails_alone, story) == ([], 2)


def test_messages_in_smaller_batches_are_accepted() -> None:
    story = _before_the_flush(600)
    for number in range(3):
        story.ok(number)
    assert judged(oversize_batch_fails_alone, story) == ([], 2)


def test_message_that_fails_for_a_batch_it_was_not_in_is_found() -> None:
    story = _before_the_flush(600)
    for number in range(3):
        story.fail(number, ErrorClass.TOO_LARGE)
    assert judged(oversize_batch_fails_alone, story) == (["failed-with-others"], 2)


def _behind_a_second_flush(*, first_ended: bool) -> Script:
    """Two flushes, a message of 800 bytes between them, and one of 100 after them: both fail as too large."""
    story = Script()
    story.producer(batching=True)
    story.down("CONNECTED", fields={"max_message_size": LIMIT})
    first = story.invoke("flush", 1)
    if first_ended:
        story.complete(first)
    story.send(0, size=800)
    story.invoke("flush", 1)
    story.send(1, size=100)
    for number in range(2):
        story.fail(number, ErrorClass.TOO_LARGE)
    return story


def test_flush_beside_another_need_not_end_a_batch() -> None:
    assert judged(oversize_batch_fails_alone, _behind_a_second_flush(first_ended=False)) == ([], 2)


def test_flush_behind_the_end_of_another_ends_a_batch() -> None:
    assert judged(oversize_batch_fails_alone, _behind_a_second_flush(first_ended=True)) == (["failed-with-others"], 1)


def test_batches_that_fit_show_nothing() -> None:
    story = _before_the_flush(100)
    for number in range(3):
        story.ok(number)
    assert judged(oversize_batch_fails_alone, story) == ([], 0)
