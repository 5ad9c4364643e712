"""Batches of one, batches too large, and receipts of another range: both ways."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.batching.oversize import OversizeFailsOwn
from assay_conformance.checks.batching.single import TakesBatchesOfOne
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script, entry_id
from assay_conformance.model.event import ErrorClass

LIMIT = 1_000


def _judged(check: type[Check], story: Script) -> tuple[list[str], int]:
    said = trial(check, story.done())
    return [finding.code for finding in said.findings], said.exercised


# --- batches of one ---


def _batch_of_one(**fields: Any) -> tuple[list[str], int]:
    story = Script()
    story.consumer()
    story.message(0, batch=True)
    story.received(0, message_id=entry_id(0, 0, 1), **fields)
    return _judged(TakesBatchesOfOne, story)


def test_batch_of_one_that_is_opened_is_accepted() -> None:
    assert _batch_of_one() == ([], 1)


def test_batch_of_one_handed_over_with_its_header_is_found() -> None:
    assert _batch_of_one(size=70, digest=1) == (["changed"], 1)


def test_batch_of_one_that_is_kept_is_found() -> None:
    story = Script()
    story.consumer()
    receive = story.invoke("receive", 2, args={"consumer": 2, "count": 1})
    story.message(0, batch=True)
    story.after(2_000)
    story.complete(receive, count=0)
    assert _judged(TakesBatchesOfOne, story) == (["not-delivered"], 0)


def test_batch_of_one_that_is_larger_than_its_broker_takes_may_be_refused() -> None:
    story = Script()
    story.consumer()
    receive = story.invoke("receive", 2, args={"consumer": 2, "count": 1})
    story.down("CONNECTED", fields={"max_message_size": 10})
    story.message(0, batch=True)
    story.after(2_000)
    story.complete(receive, count=0)
    assert _judged(TakesBatchesOfOne, story) == ([], 0)


def _reader_comes_back(*, to: int) -> Script:
    """A reader has read batch 0, comes back to batch `to`, and gets that."""
    story = Script()
    story.consumer()
    story.message(0, batch=True)
    story.received(0, message_id=entry_id(0, 0, 1))
    story.cut()
    story.connected(1)
    story.subscribed(1, durable=False, start_message_id={"ledgerId": 1, "entryId": 0, "batch_index": 0})
    receive = story.invoke("receive", 2, args={"consumer": 2, "count": 1})
    story.message(to, conn=1, batch=True)
    story.after(2_000)
    story.complete(receive, count=0)
    return story


def test_batch_of_one_that_a_reader_has_read_and_comes_back_to_is_not_owed_again() -> None:
    assert _judged(TakesBatchesOfOne, _reader_comes_back(to=0)) == ([], 1)


def test_batch_of_one_behind_the_place_a_reader_comes_back_to_is_owed() -> None:
    assert _judged(TakesBatchesOfOne, _reader_comes_back(to=1)) == (["not-delivered"], 1)


def test_batch_of_one_that_a_reader_has_read_is_not_owed_again_whoever_asked_for_it() -> None:
    story = Script()
    story.connected()
    story.complete(story.invoke("open_consumer", 2, args={"topics": ["t"], "subscription": "s"}))
    story.subscribed(durable=False)
    for entry in (0, 1):
        story.message(entry, batch=True)
        story.received(entry, message_id=entry_id(entry, 0, 1))
    receive = story.invoke("receive", 2, args={"consumer": 2, "count": 1})
    story.message(0, batch=True)
    story.after(2_000)
    story.complete(receive, count=0)
    assert _judged(TakesBatchesOfOne, story) == ([], 2)


def test_message_that_is_no_batch_shows_nothing() -> None:
    story = Script()
    story.consumer()
    story.message(0)
    story.received(0)
    assert _judged(TakesBatchesOfOne, story) == ([], 0)


# --- batches that are too large ---


def _before_the_flush(size: int) -> Script:
    """Two messages, a flush, and a third one, of a producer that batches."""
    story = Script()
    story.up("CONNECT")
    story.down("CONNECTED", fields={"max_message_size": LIMIT})
    story.producer(batching=True)
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
    assert _judged(OversizeFailsOwn, story) == ([], 2)


def test_messages_in_smaller_batches_are_accepted() -> None:
    story = _before_the_flush(600)
    for number in range(3):
        story.ok(number)
    assert _judged(OversizeFailsOwn, story) == ([], 2)


def test_message_that_fails_for_a_batch_it_was_not_in_is_found() -> None:
    story = _before_the_flush(600)
    for number in range(3):
        story.fail(number, ErrorClass.TOO_LARGE)
    assert _judged(OversizeFailsOwn, story) == (["failed-with-others"], 2)


def _behind_a_second_flush(*, first_ended: bool) -> Script:
    """Two flushes, a message of 800 bytes between them, and one of 100 behind them: both fail as too large."""
    story = Script()
    story.up("CONNECT")
    story.down("CONNECTED", fields={"max_message_size": LIMIT})
    story.producer(batching=True)
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
    assert _judged(OversizeFailsOwn, _behind_a_second_flush(first_ended=False)) == ([], 2)


def test_flush_behind_the_end_of_another_ends_a_batch() -> None:
    assert _judged(OversizeFailsOwn, _behind_a_second_flush(first_ended=True)) == (["failed-with-others"], 1)


def test_batches_that_fit_show_nothing() -> None:
    story = _before_the_flush(100)
    for number in range(3):
        story.ok(number)
    assert _judged(OversizeFailsOwn, story) == ([], 0)
