"""The check of `ack.repeated-ack-accepted`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar.ack._receipts import Awaiting

from assay_conformance.pulsar.checks.ack.repeated_ack_accepted import repeated_ack_accepted


def _acked_twice(*answers: dict[str, Any]) -> Awaiting:
    """The same ACK comes twice, and is answered so."""
    story = Awaiting()
    for _ in answers:
        story.ack_frame(0, request_id=50)
    for fields in answers:
        story.answer(**fields)
    return story


def test_second_ack_of_an_entry_that_is_taken_is_accepted() -> None:
    assert _acked_twice({}, {}).judged(repeated_ack_accepted) == ([], 1)


def test_second_ack_of_an_entry_that_is_refused_is_found() -> None:
    assert _acked_twice({}, {"error": "MetadataError"}).judged(repeated_ack_accepted)[0] == ["refused"]


def test_first_ack_that_is_refused_is_not_its_matter() -> None:
    assert _acked_twice({"error": "MetadataError"}, {}).judged(repeated_ack_accepted) == ([], 1)


def test_ack_of_a_further_entry_may_be_refused() -> None:
    story = _acked_twice({})
    story.ack_frame(0, 1, request_id=50)
    story.answer(error="MetadataError")
    assert story.judged(repeated_ack_accepted) == ([], 0)
