"""The check of `chunking.missing-chunk-discards-message`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.chunking._chunked import Story
from tests.conformance.pulsar.chunking._keeping import client, delivered_before

from assay_conformance.pulsar.checks.chunking.missing_chunk_discards_message import missing_chunk_discards_message


def with_gap() -> Story:
    story = Story()
    story.arrives(0, 0)
    story.arrives(2, 1)
    return story


def test_chunks_around_a_gap_are_left() -> None:
    assert with_gap().judged(missing_chunk_discards_message) == ([], 1)


def test_chunk_behind_a_gap_that_is_acknowledged_is_found() -> None:
    story = with_gap()
    story.ack_frame(1, conn=9)
    assert story.judged(missing_chunk_discards_message, client(expire_incomplete_chunked_ms=0))[0] == ["gap-acked"]


def test_gap_in_a_message_that_expired_may_be_acknowledged() -> None:
    story = Story()
    story.at(2_000)
    story.arrives(0, 0)
    story.arrives(2, 1)
    story.ack_frame(1, conn=9)
    assert story.judged(missing_chunk_discards_message, client(expire_incomplete_chunked_ms=1_000)) == ([], 0)


def test_chunk_that_comes_again_in_order_may_be_acknowledged() -> None:
    story = with_gap()
    for chunk, entry in enumerate((0, 2, 1)):
        story.arrives(chunk, entry)
    story.ack_frame(0, 2, 1, conn=9)
    assert story.judged(missing_chunk_discards_message, client(expire_incomplete_chunked_ms=0))[0] == []


def test_chunks_may_come_again_between_the_call_and_its_ack() -> None:
    story = delivered_before()
    story.ack(1)
    story.arrives(1, 1)
    story.ack_frame(0, 1, 2, conn=9)
    assert story.judged(missing_chunk_discards_message)[0] == []
