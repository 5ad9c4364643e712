"""The check of `batching.compressed-as-one`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import NAME, Script
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.checks.batching.compressed_as_one import compressed_as_one


def _compressed(unpacked_bytes: int | None, *numbers: int, **fields: Any) -> Check:
    story = Script()
    story.producer(batching=True, compression="LZ4")
    for number in range(2):
        story.send(number)
    meta = Meta(
        producer_name=NAME,
        sequence_id=0,
        batch=2,
        compression="LZ4",
        uncompressed_size=150,
        unpacked_bytes=unpacked_bytes,
    )
    story.send_frame(*numbers, batch=True, meta=meta, **fields)
    return trial(compressed_as_one, story.done())


def test_batch_compressed_as_a_whole_is_accepted() -> None:
    check = _compressed(None, 0, 1)
    assert (check.findings, check.exercised) == ([], 1)


def test_batch_of_another_size_than_it_says_is_found() -> None:
    assert [finding.code for finding in _compressed(170, 0, 1, members=()).findings] == ["wrong-size"]


def test_batch_whose_body_is_no_batch_is_found() -> None:
    assert [finding.code for finding in _compressed(None, 0, 1, members=()).findings] == ["unreadable"]


def test_batch_of_other_messages_than_were_asked_for_is_found() -> None:
    assert [finding.code for finding in _compressed(None, 0, 7).findings] == ["member-changed"]


def test_codec_that_cannot_be_unpacked_is_another_matter() -> None:
    assert _compressed(-1, 0, 1, members=()).findings == []
