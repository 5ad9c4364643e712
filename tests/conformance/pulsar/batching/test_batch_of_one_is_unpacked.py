"""The check of `batching.batch-of-one-is-unpacked`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._letters import STORED, Letters
from tests.conformance.pulsar._trials import judged

from assay_conformance.history.script import CONSUMER, Script, entry_id
from assay_conformance.pulsar.checks.batching.batch_of_one_is_unpacked import batch_of_one_is_unpacked


def _batch_of_one(**fields: Any) -> tuple[list[str], int]:
    story = Script()
    story.consumer()
    story.message(0, batch=True)
    story.received(0, message_id=entry_id(0, 0, 1), **fields)
    return judged(batch_of_one_is_unpacked, story)


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
    assert judged(batch_of_one_is_unpacked, story) == (["not-delivered"], 0)


@pytest.mark.parametrize(("resumes", "codes"), [(False, []), (True, ["not-delivered"])])
def test_batch_of_one_waits_while_its_consumer_is_paused(resumes: bool, codes: list[str]) -> None:
    story = Script()
    story.consumer()
    story.complete(story.invoke("pause", CONSUMER))
    story.message(0, batch=True)
    if resumes:
        story.complete(story.invoke("resume", CONSUMER))
    receive = story.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": 1})
    story.after(2_000)
    story.complete(receive, count=0)
    assert judged(batch_of_one_is_unpacked, story) == (codes, 0)


def test_batch_of_one_that_is_larger_than_its_broker_takes_may_be_refused() -> None:
    story = Script()
    story.consumer()
    receive = story.invoke("receive", 2, args={"consumer": 2, "count": 1})
    story.down("CONNECTED", fields={"max_message_size": 10})
    story.message(0, batch=True)
    story.after(2_000)
    story.complete(receive, count=0)
    assert judged(batch_of_one_is_unpacked, story) == ([], 0)


@pytest.mark.parametrize(("becomes_letter", "codes"), [(True, []), (False, ["not-delivered"])])
def test_batch_of_one_that_comes_with_the_maximum_may_become_a_dead_letter_unseen(
    becomes_letter: bool, codes: list[str]
) -> None:
    """It was redelivered from another consumer: this one never had it."""
    story = Letters(batch=1)
    receive = story.invoke("receive", CONSUMER, args={"count": 1})
    story.message(0, handle=STORED, redelivery_count=1, batch=True)
    if becomes_letter:
        story.opens()
        story.posts()
    story.after(2_000)
    story.complete(receive, count=0)
    assert judged(batch_of_one_is_unpacked, story)[0] == codes


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
    assert judged(batch_of_one_is_unpacked, _reader_comes_back(to=0)) == ([], 1)


def test_batch_of_one_behind_the_place_a_reader_comes_back_to_is_owed() -> None:
    assert judged(batch_of_one_is_unpacked, _reader_comes_back(to=1)) == (["not-delivered"], 1)


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
    assert judged(batch_of_one_is_unpacked, story) == ([], 2)


def test_message_that_is_no_batch_shows_nothing() -> None:
    story = Script()
    story.consumer()
    story.message(0)
    story.received(0)
    assert judged(batch_of_one_is_unpacked, story) == ([], 0)
