"""The check of `compression.uncompressed-size-exact`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.compression._histories import compressed, judged, sent

from assay_conformance.history.script import MESSAGE_BYTES, NAME, Script
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.checks.compression.uncompressed_size_exact import uncompressed_size_exact


def test_message_in_another_format_has_no_size_to_judge() -> None:
    assert judged(sent(compressed(unpacked_bytes=-1), members=()), uncompressed_size_exact) == ([], 0)


def test_size_that_is_wrong_is_found() -> None:
    meta = compressed(uncompressed_size=0, unpacked_bytes=MESSAGE_BYTES)
    assert judged(sent(meta, members=()), uncompressed_size_exact) == (["wrong-size"], 0)


def test_payload_untouched_without_compression_is_accepted() -> None:
    plain = Meta(producer_name=NAME, sequence_id=0)
    assert judged(sent(plain, "NONE"), uncompressed_size_exact) == ([], 1)


def test_compression_that_nobody_asked_for_is_found() -> None:
    assert judged(sent(compressed(), "NONE"), uncompressed_size_exact) == (["compressed-unasked"], 1)


def test_client_may_leave_a_small_payload_uncompressed() -> None:
    plain = Meta(producer_name=NAME, sequence_id=0)
    assert judged(sent(plain, "LZ4"), uncompressed_size_exact) == ([], 1)


def test_payload_that_nobody_asked_for_is_found() -> None:
    story = Script()
    story.producer(compression="NONE")
    story.send(0)
    story.send_frame(7, sequence_id=0)
    assert judged(story, uncompressed_size_exact) == (["payload-changed"], 1)
