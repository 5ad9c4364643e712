"""The check of `chunking.expires-incomplete`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.chunking._chunked import Story
from tests.conformance.pulsar.chunking._keeping import client

from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.chunking.expires_incomplete import expires_incomplete

EXPIRY = client(expire_incomplete_chunked_ms=300)


def incomplete() -> Story:
    story = Story()
    story.arrives(0, 0)
    story.arrives(1, 1)
    return story


def test_incomplete_message_is_acknowledged_when_it_expires() -> None:
    story = incomplete()
    story.after(400)
    story.ack_frame(0, 1, conn=9)
    assert story.judged(expires_incomplete, EXPIRY) == ([], 1)


def test_chunk_that_comes_when_its_message_is_given_up_is_left_to_the_broker() -> None:
    story = Story()
    story.arrives(0, 0)
    story.after(350)
    story.ack_frame(0, conn=9)
    story.arrives(1, 1)
    story.after(1_000)
    assert story.judged(expires_incomplete, EXPIRY) == ([], 1)


def test_incomplete_message_that_never_expires_is_found() -> None:
    story = incomplete()
    story.after(1_000)
    assert story.judged(expires_incomplete, EXPIRY)[0] == ["not-expired"]


def test_incomplete_message_that_expires_early_is_found() -> None:
    story = incomplete()
    story.after(100)
    story.ack_frame(0, 1, conn=9)
    assert "expired-early" in story.judged(expires_incomplete, EXPIRY)[0]


def test_message_that_is_completed_does_not_expire() -> None:
    story = incomplete()
    story.arrives(2, 2)
    story.after(1_000)
    assert story.judged(expires_incomplete, EXPIRY) == ([], 0)


def test_incomplete_message_that_a_cumulative_acknowledgment_covers_need_not_expire() -> None:
    story = incomplete()
    story.message(1, entry=4, conn=9)
    story.received(1, entry=4)
    args = {"consumer": CONSUMER, "messages": [1], "cumulative": True}
    story.complete(story.invoke("ack", CONSUMER, args=args))
    story.after(1_000)
    assert story.judged(expires_incomplete, EXPIRY)[0] == []
