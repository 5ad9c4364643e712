"""Room for chunked messages, both ways. Message 0 has three chunks."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.chunking.permits import ChunksHoldPermits, PermitsReturn
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import MESSAGE_BYTES, NAME, Script
from assay_conformance.model.event import ErrorClass, Meta

CHUNKS = 3


class Story(Script):
    def __init__(self, **config: Any) -> None:
        super().__init__()
        self.producer(**{"chunking": True, "max_pending_messages": 4, **config})

    def large(self, *, answered: bool) -> None:
        """Message 0 leaves in chunks; receipted or not."""
        self.send(0, size=CHUNKS * MESSAGE_BYTES)
        for chunk in range(CHUNKS):
            meta = Meta(producer_name=NAME, sequence_id=0, uuid="p-0", chunk_id=chunk, chunks=CHUNKS)
            last: dict[str, Any] = {} if chunk == CHUNKS - 1 else {"members": ()}
            self.send_frame(0, meta=meta, unit=chunk, **last)
        if answered:
            for _ in range(CHUNKS):
                self.receipt(0)
            self.ok(0)

    def small(self, *numbers: int) -> None:
        for number in numbers:
            self.send(number)
            self.send_frame(number)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        said = trial(check, self.done())
        return [finding.code for finding in said.findings], said.exercised


def test_chunks_and_messages_up_to_the_limit_are_accepted() -> None:
    story = Story()
    story.large(answered=False)
    story.small(1)
    assert story.judged(ChunksHoldPermits) == ([], 1)


def test_a_chunk_too_many_is_found() -> None:
    story = Story()
    story.large(answered=False)
    story.small(1, 2)
    assert story.judged(ChunksHoldPermits) == (["too-many-pending"], 1)


def test_messages_without_chunks_are_another_matter() -> None:
    story = Story()
    story.small(1, 2, 3, 4, 5)
    assert story.judged(ChunksHoldPermits) == ([], 0)


def test_room_behind_a_chunked_message_is_accepted() -> None:
    story = Story()
    story.large(answered=True)
    story.after(200)
    story.small(1)
    story.ok(1)
    assert story.judged(PermitsReturn)[0] == []


def test_refusal_behind_a_chunked_message_that_has_ended_is_found() -> None:
    story = Story()
    story.large(answered=True)
    story.after(200).send(1)
    story.fail(1, ErrorClass.QUEUE_FULL)
    assert story.judged(PermitsReturn)[0] == ["refused-with-room"]


def test_refusal_that_is_told_before_what_was_written_is_seen_is_found() -> None:
    story = Story()
    story.large(answered=True)
    story.after(200).send(1)
    story.send(2)
    story.fail(2, ErrorClass.QUEUE_FULL)
    story.send_frame(1)
    assert story.judged(PermitsReturn)[0] == ["refused-with-room"]


def test_refusal_beside_chunks_in_flight_is_accepted() -> None:
    story = Story()
    story.large(answered=False)
    story.small(1)
    story.send(2)
    story.fail(2, ErrorClass.QUEUE_FULL)
    assert story.judged(PermitsReturn)[0] == []
