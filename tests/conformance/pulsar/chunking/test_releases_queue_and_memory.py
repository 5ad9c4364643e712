"""The check of `chunking.releases-queue-and-memory`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.chunking._pending_chunks import Story

from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.checks.chunking.releases_queue_and_memory import releases_queue_and_memory


def test_room_behind_a_chunked_message_is_accepted() -> None:
    story = Story()
    story.large(answered=True)
    story.after(200)
    story.small(1)
    story.ok(1)
    assert story.judged(releases_queue_and_memory)[0] == []


def test_refusal_behind_a_chunked_message_that_has_ended_is_found() -> None:
    story = Story()
    story.large(answered=True)
    story.after(200).send(1)
    story.fail(1, ErrorClass.QUEUE_FULL)
    assert story.judged(releases_queue_and_memory)[0] == ["refused-with-room"]


def test_refusal_that_is_told_before_what_was_written_is_seen_is_found() -> None:
    story = Story()
    story.large(answered=True)
    story.after(200).send(1)
    story.send(2)
    story.fail(2, ErrorClass.QUEUE_FULL)
    story.send_frame(1)
    assert story.judged(releases_queue_and_memory)[0] == ["refused-with-room"]


def test_refusal_beside_chunks_in_flight_is_accepted() -> None:
    story = Story()
    story.large(answered=False)
    story.small(1)
    story.send(2)
    story.fail(2, ErrorClass.QUEUE_FULL)
    assert story.judged(releases_queue_and_memory)[0] == []
