"""Batches: exactly the members the metadata counts, filling exactly the payload."""

from __future__ import annotations

import pytest

from assay_conformance.wire import (
    BatchError,
    Member,
    MessageMetadata,
    SingleMessageMetadata,
    decode_batch,
    encode_batch,
)
from assay_conformance.wire import is_batch as is_batched

TWO = encode_batch(
    [
        Member(SingleMessageMetadata(sequence_id=1, partition_key="k"), b"one"),
        Member(SingleMessageMetadata(sequence_id=2), b""),
    ]
)


def test_members_come_back_in_order() -> None:
    members = decode_batch(TWO, 2)
    assert [(member.metadata.sequence_id, member.payload) for member in members] == [(1, b"one"), (2, b"")]


def test_payload_size_is_taken_from_the_payload() -> None:
    given = SingleMessageMetadata(payload_size=99)
    assert decode_batch(encode_batch([Member(given, b"one")]), 1)[0].metadata.payload_size == 3
    assert given.payload_size == 99


@pytest.mark.parametrize("count", [-1, 0, 1, 3, 2**31 - 1])
def test_wrong_count_is_refused(count: int) -> None:
    with pytest.raises(BatchError):
        decode_batch(TWO, count)


@pytest.mark.parametrize("end", range(len(TWO)))
def test_cut_batch_is_refused(end: int) -> None:
    with pytest.raises(BatchError):
        decode_batch(TWO[:end], 2)


BROKEN = {
    "bytes after the last member": TWO + b"x",
    "metadata size beyond the batch": b"\0\0\0\x09abc",
    "metadata that is not protobuf": b"\0\0\0\x02\xff\xff",
    "metadata without a payload size": b"\0\0\0\x02\x40\x01",
    "negative payload size": b"\0\0\0\x0b\x18" + b"\xff" * 9 + b"\x01",
    "key that is not UTF-8": b"\0\0\0\x05\x12\x01\xff\x18\x00",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_broken_batch_is_refused(data: bytes) -> None:
    with pytest.raises(BatchError):
        decode_batch(data, 2 if data.startswith(TWO) else 1)


def test_member_cannot_begin_inside_the_one_before() -> None:
    inner = b"\0\0\0\x02\x18\x00"
    minus_six = b"\xfa" + b"\xff" * 8 + b"\x01"
    outer = b"\x18" + minus_six + b"\x3a\x06" + inner
    with pytest.raises(BatchError, match="-6 bytes"):
        decode_batch(bytes((0, 0, 0, len(outer))) + outer, 2)


def test_count_of_one_is_still_a_batch() -> None:
    assert is_batched(MessageMetadata(num_messages_in_batch=1))
    assert not is_batched(MessageMetadata())
