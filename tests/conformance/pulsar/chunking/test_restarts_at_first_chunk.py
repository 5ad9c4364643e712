"""The check of `chunking.restarts-at-first-chunk`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.chunking._chunked import Story
from tests.conformance.pulsar.chunking._keeping import client

from assay_conformance.pulsar.checks.chunking.restarts_at_first_chunk import restarts_at_first_chunk


def begun_anew(*again: int) -> Story:
    """Chunks 0 and 1 as entries 0 and 1, then the whole message as these entries."""
    story = Story()
    story.arrives(0, 0)
    story.arrives(1, 1)
    for chunk, entry in enumerate(again):
        story.arrives(chunk, entry)
    return story


def test_message_begun_anew_is_handed_over_and_the_old_chunks_acknowledged() -> None:
    story = begun_anew(2, 3, 4)
    story.ack_frame(0, 1, conn=9)
    story.gets(4)
    story.after(300)
    assert story.judged(restarts_at_first_chunk) == ([], 2)


def test_old_chunks_that_are_left_are_found() -> None:
    story = begun_anew(2, 3, 4)
    story.gets(4)
    story.after(300)
    assert story.judged(restarts_at_first_chunk)[0] == ["old-not-acked"]


@pytest.mark.parametrize(("came_ms", "codes"), [(290, ["old-not-acked"]), (350, [])])
def test_chunk_that_comes_when_its_message_has_expired_is_not_among_the_old_ones(
    came_ms: int, codes: list[str]
) -> None:
    story = Story()
    story.arrives(0, 0)
    story.at(came_ms)
    story.arrives(1, 1)
    story.arrives(0, 2)
    story.ack_frame(0, conn=9)
    story.after(300)
    judged = story.judged(restarts_at_first_chunk, client(expire_incomplete_chunked_ms=300))
    assert judged[0] == codes


def test_chunks_redelivered_before_their_message_began_anew_are_acknowledged_with_the_old_ones() -> None:
    story = begun_anew(0, 1)
    story.arrives(0, 2)
    story.ack_frame(0, 1, conn=9)
    story.after(300)
    assert story.judged(restarts_at_first_chunk)[0] == []


@pytest.mark.parametrize(("acked_ms", "codes"), [(299, ["redelivered-acked"]), (300, [])])
def test_redelivered_chunks_that_are_incomplete_for_too_long_may_be_acknowledged(
    acked_ms: int, codes: list[str]
) -> None:
    story = begun_anew(0)
    story.at(acked_ms).ack_frame(0, conn=9)
    assert story.judged(restarts_at_first_chunk, client(expire_incomplete_chunked_ms=300))[0] == codes


def test_redelivered_chunks_that_are_acknowledged_are_found() -> None:
    story = begun_anew(0)
    story.ack_frame(0, conn=9)
    assert story.judged(restarts_at_first_chunk)[0] == ["redelivered-acked"]


def test_redelivered_message_may_be_acknowledged_when_it_is_whole() -> None:
    story = begun_anew(0, 1, 2)
    story.gets(2)
    story.ack(1)
    story.ack_frame(0, 1, 2, conn=9)
    assert story.judged(restarts_at_first_chunk)[0] == []


def test_chunks_let_go_when_everything_is_asked_for_again_are_not_missed() -> None:
    """Entries 0 and 1 are the same chunk, sent twice: which of them begins the message depends on what is held."""
    story = Story()
    story.arrives(0, 1)
    story.redeliver_frame(conn=9)
    story.arrives(0, 0)
    story.after(300)
    assert story.judged(restarts_at_first_chunk)[0] == []


def test_message_begun_anew_that_is_withheld_is_found() -> None:
    story = begun_anew(2, 3, 4)
    story.ack_frame(0, 1, conn=9)
    story.after(600)
    story.receive(1, 0)
    assert story.judged(restarts_at_first_chunk)[0] == ["not-delivered"]


def test_message_that_was_dropped_for_others_does_not_begin_anew() -> None:
    story = Story()
    story.arrives(0, 0)
    for number in (1, 2):
        story.arrives(0, number, number)
    story.arrives(0, 3)
    story.after(300)
    story.close_consumer()
    assert story.judged(restarts_at_first_chunk, client(auto_ack_oldest_chunked=False))[0] == []
