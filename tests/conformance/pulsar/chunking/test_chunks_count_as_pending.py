"""The check of `chunking.chunks-count-as-pending`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.chunking._pending_chunks import Story

from assay_conformance.pulsar.checks.chunking.chunks_count_as_pending import chunks_count_as_pending


def test_chunks_and_messages_up_to_the_limit_are_accepted() -> None:
    story = Story()
    story.large(answered=False)
    story.small(1)
    assert story.judged(chunks_count_as_pending) == ([], 1)


def test_a_chunk_too_many_is_found() -> None:
    story = Story()
    story.large(answered=False)
    story.small(1, 2)
    assert story.judged(chunks_count_as_pending) == (["too-many-pending"], 1)


def test_messages_without_chunks_are_another_matter() -> None:
    story = Story()
    story.small(1, 2, 3, 4, 5)
    assert story.judged(chunks_count_as_pending) == ([], 0)
