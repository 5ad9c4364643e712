"""The check of `chunking.repeated-chunk-dropped`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.chunking._chunked import CHUNK, SIZE, Story

from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.chunking.repeated_chunk_dropped import repeated_chunk_dropped


def test_chunk_that_came_twice_before_everything_was_asked_for_again_is_forgotten() -> None:
    """Joined of what was held, and of what came again: it is delivered twice, as was asked for."""
    story = Story()
    for chunk in (0, 1, 1):
        story.arrives(chunk, chunk)
    story.redeliver_frame(conn=9)
    for chunk in (2, 0, 1, 2):
        story.arrives(chunk, chunk)
    story.gets(2)
    story.gets(2)
    assert story.judged(repeated_chunk_dropped)[0] == []


def with_repeat(entry: int) -> Story:
    """Chunk 1 comes as entry 1 and again as `entry`; chunk 2 completes the message as entry 3."""
    story = Story()
    story.arrives(0, 0)
    story.arrives(1, 1)
    story.arrives(1, entry)
    return story


def test_chunk_sent_twice_is_filtered_and_acked() -> None:
    story = with_repeat(2)
    story.ack_frame(2, conn=9)
    story.arrives(2, 3)
    story.gets(3)
    story.after(300)
    story.close_consumer()
    assert story.judged(repeated_chunk_dropped) == ([], 1)


def test_chunk_sent_twice_and_not_acked_is_found() -> None:
    story = with_repeat(2)
    story.arrives(2, 3)
    story.gets(3)
    story.after(300)
    story.close_consumer()
    assert story.judged(repeated_chunk_dropped)[0] == ["repeat-not-acked"]


def test_redelivered_chunk_is_filtered() -> None:
    story = with_repeat(1)
    story.arrives(2, 3)
    story.gets(3)
    story.ack(1)
    story.ack_frame(0, 1, 3, conn=9)
    assert story.judged(repeated_chunk_dropped) == ([], 1)


def test_redelivered_chunk_may_be_covered_by_a_cumulative_ack_of_a_later_message() -> None:
    story = with_repeat(1)
    story.arrives(2, 3)
    story.gets(3)
    story.message(1, entry=4, conn=9)
    story.received(1, entry=4)
    args = {"consumer": CONSUMER, "messages": [2], "cumulative": True}
    story.complete(story.invoke("ack", CONSUMER, args=args))
    story.ack_frame(4, conn=9, ack_type="Cumulative")
    assert story.judged(repeated_chunk_dropped) == ([], 1)


def test_redelivered_chunk_that_is_acked_is_found() -> None:
    story = with_repeat(1)
    story.ack_frame(1, conn=9)
    story.arrives(2, 3)
    story.gets(3)
    assert story.judged(repeated_chunk_dropped)[0] == ["redelivery-acked"]


def test_redelivered_chunk_goes_with_its_message_when_that_expires() -> None:
    story = with_repeat(1)
    story.after(60_000)
    story.ack_frame(0, 1, conn=9)
    assert story.judged(repeated_chunk_dropped)[0] == []


def test_repeat_that_delivers_twice_is_found() -> None:
    story = with_repeat(2)
    story.ack_frame(2, conn=9)
    story.arrives(2, 3)
    story.gets(3)
    story.gets(3)
    assert story.judged(repeated_chunk_dropped)[0] == ["delivered-twice"]


def test_repeat_that_damages_the_message_is_found() -> None:
    story = with_repeat(2)
    story.ack_frame(2, conn=9)
    story.arrives(2, 3)
    story.gets(3, size=SIZE + CHUNK)
    assert story.judged(repeated_chunk_dropped)[0] == ["wrong-content"]


def test_repeat_that_loses_the_message_is_found() -> None:
    story = with_repeat(2)
    story.ack_frame(2, conn=9)
    story.arrives(2, 3)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(repeated_chunk_dropped)[0] == ["not-delivered"]


def test_restarted_message_is_another_requirements_matter() -> None:
    story = with_repeat(2)
    story.arrives(0, 3)
    story.after(300)
    story.close_consumer()
    assert story.judged(repeated_chunk_dropped) == ([], 0)
