"""The check of `dead-letter.large-message-chunked`, both ways, on histories of a few lines."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest
from tests.conformance.pulsar._letters import STORED, Letters
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.dead_letter._letters import refused_twice

from assay_conformance.checks.trial import ANY_CLIENT, trial
from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Fate, Meta, Sides
from assay_conformance.pulsar.checks.dead_letter.large_message_chunked import large_message_chunked
from assay_conformance.pulsar.checks.dead_letter.original_acked_after_receipt import (
    dead_letter_original_acked_after_receipt,
)


def test_large_message_is_a_matter_of_its_own() -> None:
    story = refused_twice(chunk=0)
    story.redeliver_frame(0)
    assert codes_of(story.judged(large_message_chunked)) == ["asked-again"]
    assert trial(dead_letter_original_acked_after_receipt, story.events).findings == []


def test_large_message_that_is_buried_is_accepted() -> None:
    story = refused_twice(chunk=0)
    story.posts()
    story.receipt(0, producer_id=5)
    story.acks()
    check = story.judged(large_message_chunked)
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize(("acks", "codes"), [(False, ["never-again"]), (True, [])])
def test_large_message_that_never_comes_again_is_found_unless_it_was_acknowledged(acks: bool, codes: list[str]) -> None:
    story = Letters(chunk=0)
    story.comes(0)
    if acks:
        story.complete(story.invoke("ack", CONSUMER, args={"messages": [1]}))
    story.refuse()
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.at(3_000).complete(waiting, count=0)
    assert codes_of(story.judged(large_message_chunked)) == codes


def test_client_whose_delay_is_not_known_may_be_about_to_ask_for_a_large_message() -> None:
    story = Letters(chunk=0)
    story.comes(0)
    story.refuse()
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.at(3_000).complete(waiting, count=0)
    facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"subscription_type", "max_redeliver_count"}))
    check = trial(large_message_chunked, story.at(5_000).done(), facts=facts)
    assert check.findings == []
    assert list(check.not_judged) == ["how long its client waits before it acts on a nack is not known"]


@pytest.mark.parametrize("acked", [True, False])
def test_large_message_that_is_a_letter_does_not_come_again_when_an_earlier_delivery_is_refused(acked: bool) -> None:
    story = refused_twice(chunk=0)
    story.posts()
    story.receipt(0, producer_id=5)
    if acked:
        story.acks()
    story.refuse(1)
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.at(3_000).complete(waiting, count=0)
    assert "never-again" not in codes_of(story.judged(large_message_chunked))


def test_large_message_does_not_come_again_where_the_permits_for_it_were_lost() -> None:
    story = Letters(chunk=0)
    story.comes(0)
    story.refuse()
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.up("FLOW", consumer_id=0, permits=1_000, sides=Sides.SENDER, fate=Fate.DROPPED)
    story.at(3_000).complete(waiting, count=0)
    assert codes_of(story.judged(large_message_chunked)) == []


@pytest.mark.parametrize("refused", [None, "before", "behind"])
def test_letter_a_chunk_of_which_is_refused_is_none(refused: str | None) -> None:
    """Whether that is known when the last chunk leaves or not, and whatever receipt that one has."""
    story = refused_twice(chunk=0)
    _posts_chunk(story, 0)
    answer = partial(story.down, "SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "NotAllowedError"})
    if refused == "before":
        answer()
    _posts_chunk(story, 1)
    if refused == "behind":
        answer()
    if refused is None:
        story.receipt(0, producer_id=5)
    story.receipt(0, producer_id=5)
    story.redeliver_frame(0)
    assert codes_of(story.judged(large_message_chunked)) == ([] if refused else ["not-acked"])


@pytest.mark.parametrize("refused", [0, 1])
@pytest.mark.parametrize(("again", "codes"), [(False, ["acked-first"]), (True, [])])
def test_letter_of_which_a_refused_chunk_is_sent_again_is_one(refused: int, again: bool, codes: list[str]) -> None:
    story = refused_twice(chunk=0)
    for chunk_id in (0, 1):
        _posts_chunk(story, chunk_id)
        if chunk_id == refused:
            story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "TooManyRequests"})
        else:
            story.receipt(0, producer_id=5)
    story.closed()
    story.connected(1)
    story.subscribed(1, kind="Shared")
    story.opens(conn=1)
    for chunk_id in range(refused, 2) if again else ():
        _posts_chunk(story, chunk_id, conn=1)
        story.receipt(0, conn=1, producer_id=5)
    story.ack_frame(0, conn=1)
    assert codes_of(story.judged(large_message_chunked)) == codes


def _posts_chunk(story: Letters, chunk_id: int, conn: int = 0) -> None:
    """One of the two chunks of a letter, the last of which holds its message."""
    if chunk_id:
        story.posts(conn=conn, uuid="u", chunk_id=1, chunks=2)
    else:
        meta = Meta(producer_name="letters", sequence_id=0, uuid="u", chunk_id=0, chunks=2)
        story.send_frame(0, conn=conn, producer_id=5, handle=STORED, name="letters", meta=meta, members=())


def _beyond_its_maximum(*entries: int) -> Letters:
    """A large message has been stored in two chunks, and these of its entries come beyond their maximum."""
    story = Letters(chunk=0, chunks=2)
    last = Meta(producer_name="p", sequence_id=0, property_digests=(7,), chunk_id=1, chunks=2)
    story.stored(1, handle=STORED, meta=last)
    for entry in entries:
        story.message(entry, handle=STORED, redelivery_count=2)
    return story


def test_large_message_that_came_too_often_and_became_no_letter_is_found() -> None:
    assert codes_of(_beyond_its_maximum(0, 1).judged(large_message_chunked)) == ["not-posted"]


@pytest.mark.parametrize("entries", [(1,), (1, 0, 0), (1, 1)])
def test_some_of_the_chunks_of_a_message_make_no_letter(entries: tuple[int, ...]) -> None:
    assert codes_of(_beyond_its_maximum(*entries).judged(large_message_chunked)) == []


def test_large_message_of_a_consumer_that_is_not_let_in_again_need_not_come() -> None:
    story = Letters(chunk=0)
    story.comes(0)
    story.refuse()
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.cut()
    story.at(3_000).complete(waiting, count=0)
    assert codes_of(story.judged(large_message_chunked)) == []


def test_chunks_before_the_last_become_no_letters() -> None:
    story = Letters(chunk=0, chunks=3)
    story.message(0, handle=STORED, redelivery_count=2)
    story.acks()
    assert codes_of(story.judged(large_message_chunked)) == []


def test_large_message_a_chunk_of_which_was_lost_on_the_way_need_not_come_again() -> None:
    story = Letters(chunk=0)
    story.comes(0)
    story.refuse()
    story.message(0, handle=STORED, fate=Fate.DROPPED, sides=Sides.SENDER)
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.at(3_000).complete(waiting, count=0)
    assert codes_of(story.judged(large_message_chunked)) == []
