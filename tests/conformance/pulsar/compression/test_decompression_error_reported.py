"""The check of `compression.decompression-error-reported`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar.compression._histories import Reading, judged

from assay_conformance.checks.trial import ANY_CASE
from assay_conformance.model.case import Topology
from assay_conformance.pulsar.checks.compression.decompression_error_reported import decompression_error_reported

SMALL_MESSAGES = msgspec.structs.replace(ANY_CASE, topology=Topology(max_message_bytes=1_000))


def test_garbled_message_that_is_reported_is_accepted() -> None:
    story = Reading()
    story.garbled(0)
    story.reported(0, "DecompressionError")
    story.flow(1)
    assert judged(story, decompression_error_reported) == ([], 1)


def test_body_larger_than_a_message_has_a_reason_of_its_own() -> None:
    story = Reading()
    story.comes(0, size=5_000)
    story.reported(0, "UncompressedSizeCorruption")
    assert judged(story, decompression_error_reported, SMALL_MESSAGES) == ([], 1)


def test_garbled_message_that_is_delivered_is_found() -> None:
    story = Reading()
    story.garbled(0)
    story.received(0)
    assert judged(story, decompression_error_reported) == (["garbled-delivered"], 0)


def test_what_an_application_acknowledges_was_delivered_and_not_reported() -> None:
    story = Reading()
    story.garbled(0)
    story.received(0)
    story.ack_frame(0)
    assert judged(story, decompression_error_reported) == (["garbled-delivered"], 0)


def test_garbled_message_that_is_settled_without_a_word_is_found() -> None:
    story = Reading()
    story.garbled(0)
    story.ack_frame(0)
    assert judged(story, decompression_error_reported) == (["wrong-report"], 0)


def test_garbled_message_reported_as_damaged_is_found() -> None:
    story = Reading()
    story.garbled(0)
    story.reported(0, "ChecksumMismatch")
    assert judged(story, decompression_error_reported) == (["wrong-report"], 0)


def test_garbled_message_that_nobody_reports_is_found() -> None:
    story = Reading()
    story.garbled(0)
    story.after(1_000)
    assert judged(story, decompression_error_reported) == (["not-reported"], 0)


def test_permits_of_garbled_messages_that_are_kept_are_found() -> None:
    story = Reading()
    for number in range(2):
        story.garbled(number)
        story.reported(number, "DecompressionError")
    story.after(1_000)
    assert judged(story, decompression_error_reported) == (["permit-not-returned"], 2)


def test_garbled_messages_that_are_taken_for_good_wait_in_the_queue_with_their_permits() -> None:
    story = Reading()
    for number in range(2):
        story.garbled(number)
    story.after(1_000)
    assert judged(story, decompression_error_reported) == (["not-reported", "not-reported"], 0)


def test_permits_of_garbled_messages_that_were_delivered_are_found() -> None:
    story = Reading()
    for number in range(2):
        story.garbled(number)
        story.received(number)
    story.after(1_000)
    assert judged(story, decompression_error_reported)[0] == [
        "garbled-delivered",
        "garbled-delivered",
        "not-reported",
        "not-reported",
        "permit-not-returned",
    ]


def test_garbled_message_that_was_delivered_is_not_counted_twice() -> None:
    """Two are used up, and one of them is still in the client's queue: it owes no permit for that."""
    story = Reading()
    story.garbled(0)
    story.comes(1)
    story.received(0)
    story.reported(0, "DecompressionError")
    story.after(1_000)
    assert judged(story, decompression_error_reported) == (["garbled-delivered"], 1)
