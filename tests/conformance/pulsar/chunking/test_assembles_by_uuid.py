"""The check of `chunking.assembles-by-uuid`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.chunking._chunked import Story

from assay_conformance.pulsar.checks.chunking.assembles_by_uuid import assembles_by_uuid


def by_turns() -> Story:
    story = Story()
    for entry, (number, chunk) in enumerate([(0, 0), (1, 0), (0, 1), (1, 1), (1, 2), (0, 2)]):
        story.arrives(chunk, entry, number)
    return story


def test_messages_by_turns_are_handed_over() -> None:
    story = by_turns()
    story.gets(4, 1)
    story.gets(5, 0)
    assert story.judged(assembles_by_uuid) == ([], 2)


def test_message_by_turns_that_is_withheld_is_found() -> None:
    story = by_turns()
    story.gets(4, 1)
    story.after(600)
    story.receive(1, 0)
    assert story.judged(assembles_by_uuid)[0] == ["not-delivered"]


def test_messages_that_are_mixed_up_are_found() -> None:
    story = by_turns()
    story.gets(4, 1, digest=1)
    assert story.judged(assembles_by_uuid)[0] == ["wrong-content"]


def test_message_alone_shows_nothing_of_turns() -> None:
    story = Story()
    for chunk in range(3):
        story.arrives(chunk, chunk)
    story.gets(2)
    assert story.judged(assembles_by_uuid) == ([], 0)
