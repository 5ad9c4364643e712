"""The check of `chunking.splits-large-message`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.chunking._chunked import CASE, CHUNKS, CLIENT, SIZE, Story, chunk_meta, joined

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CASE_NUMBER, PRODUCER
from assay_conformance.model.event import ErrorClass, Identity, Member, Outcome
from assay_conformance.pulsar.checks.chunking.splits_large_message import splits_large_message


def test_large_message_in_chunks_is_accepted() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.piece(chunk)
    assert story.judged(splits_large_message) == ([], 1)


def test_chunks_go_on_after_a_reconnect() -> None:
    story = Story()
    story.piece(0)
    story.piece(1)
    story.cut()
    story.producer_again(1)
    story.piece(1, conn=1)
    story.piece(2, conn=1)
    assert story.judged(splits_large_message) == ([], 1)


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        ("not-marked", {"fields": {}}),
        ("metadata-differs", {"meta": chunk_meta(1, publish_time_ms=5)}),
        ("metadata-differs", {"meta": chunk_meta(1, chunks=4)}),
        ("metadata-missing", {"meta": chunk_meta(1, chunk_total_bytes=None)}),
        ("sequence-differs", {"sequence_id": 1}),
        ("out-of-order", {"meta": chunk_meta(0)}),
        ("uneven", {"size": 500}),
    ],
)
def test_wrong_second_chunk_is_found(code: str, fields: dict[str, object]) -> None:
    story = Story()
    story.piece(0)
    story.piece(1, **fields)  # type: ignore[arg-type]
    assert story.judged(splits_large_message)[0] == [code]


def test_chunks_that_begin_in_the_middle_are_found() -> None:
    story = Story()
    story.piece(1)
    assert story.judged(splits_large_message)[0] == ["out-of-order"]


def test_chunk_alone_is_found() -> None:
    story = Story()
    story.piece(0, meta=chunk_meta(0, chunks=1))
    assert story.judged(splits_large_message)[0] == ["needless"]


def test_wrong_total_is_found() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.piece(chunk, meta=chunk_meta(chunk, chunk_total_bytes=SIZE + 1))
    assert story.judged(splits_large_message)[0] == ["wrong-total"]


def test_compressed_total_is_not_judged() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.piece(chunk, meta=chunk_meta(chunk, chunk_total_bytes=SIZE - 100, compression="LZ4"))
    assert story.judged(splits_large_message) == ([], 1)


def test_chunks_of_other_bytes_are_found() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.piece(chunk)
    member = Member(size=SIZE, digest=1, identity=Identity(CASE_NUMBER, PRODUCER, 0))
    story.piece(0, number=1)
    story.piece(1, number=1)
    story.piece(2, number=1, members=(member,))
    assert story.judged(splits_large_message)[0] == ["joined-differs"]


def test_large_message_in_one_frame_is_found() -> None:
    story = Story()
    story.send_frame(0, size=SIZE + 60, members=joined())
    assert story.judged(splits_large_message)[0] == ["not-split"]


def test_large_message_that_is_refused_is_found() -> None:
    story = Story()
    story.fail(0, ErrorClass.TOO_LARGE)
    assert story.judged(splits_large_message)[0] == ["refused"]


def test_success_without_all_chunks_is_found() -> None:
    story = Story()
    story.piece(0)
    story.ok(0)
    assert story.judged(splits_large_message)[0] == ["incomplete"]


def test_resend_after_a_checksum_error_is_not_judged() -> None:
    story = Story()
    story.piece(0)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0)
    story.piece(0)
    story.piece(1)
    assert story.judged(splits_large_message) == ([], 0)


def test_unknown_send_need_not_have_left_whole() -> None:
    story = Story()
    story.piece(0)
    story.unknown(0)
    assert story.judged(splits_large_message)[0] == []


def test_message_whose_properties_leave_no_room_may_be_refused() -> None:
    story = Story()
    refused = story.send(1, size=SIZE, properties={"long": "x" * SIZE})
    story.complete(refused, Outcome.FAIL, error=ErrorClass.TOO_LARGE)
    assert trial(splits_large_message, story.done(), CASE, CLIENT).findings == []
