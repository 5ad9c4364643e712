"""Chunks: every row of the table of what may arrive while a message is incomplete."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_conformance.wire import (
    Added,
    Assembled,
    ChunkAssembler,
    ChunkError,
    Duplicate,
    Gap,
    LocalProtocolError,
    MessageMetadata,
    Restarted,
    Waiting,
    is_chunk,
    split_chunks,
)

DATA = b"abcdefgh"
CHUNKS = split_chunks(MessageMetadata(producer_name="p", sequence_id=7, publish_time=1), DATA, 3)
"""abc, def, gh: chunks 0, 1, 2 of p-7."""


def add(assembler: ChunkAssembler, number: int, entry: int) -> Added:
    metadata, data = CHUNKS[number]
    return assembler.add(metadata, data, (1, entry))


def fed(*chunks: tuple[int, int]) -> tuple[ChunkAssembler, Added]:
    """An assembler that got these chunks (number, entry), and its last answer."""
    assembler = ChunkAssembler()
    answers = [add(assembler, number, entry) for number, entry in chunks]
    return assembler, answers[-1]


def test_chunks_carry_what_joins_them() -> None:
    described = [
        (chunk.uuid, chunk.chunk_id, chunk.num_chunks_from_msg, chunk.total_chunk_msg_size, data)
        for chunk, data in CHUNKS
    ]
    assert described == [("p-7", 0, 3, 8, b"abc"), ("p-7", 1, 3, 8, b"def"), ("p-7", 2, 3, 8, b"gh")]
    assert all((chunk.sequence_id, chunk.publish_time) == (7, 1) for chunk, _ in CHUNKS)


def test_message_that_fits_is_not_chunked() -> None:
    ((metadata, data),) = split_chunks(MessageMetadata(producer_name="p"), DATA, 8)
    assert (is_chunk(metadata), metadata.HasField("uuid"), data) == (False, False, DATA)


def test_no_room_for_payload_is_our_error() -> None:
    with pytest.raises(LocalProtocolError):
        split_chunks(MessageMetadata(producer_name="p"), DATA, 0)


@given(st.binary(min_size=1, max_size=200), st.integers(1, 200))
def test_split_chunks_join_again(data: bytes, chunk_bytes: int) -> None:
    chunks = split_chunks(MessageMetadata(producer_name="p", sequence_id=1), data, chunk_bytes)
    assert all(0 < len(part) <= chunk_bytes for _, part in chunks)
    assert b"".join(part for _, part in chunks) == data
    if len(chunks) > 1:
        assembler = ChunkAssembler()
        answers = [assembler.add(metadata, part, (1, entry)) for entry, (metadata, part) in enumerate(chunks)]
        assert answers[-1] == Assembled(data, tuple((1, entry) for entry in range(len(chunks))))


def test_chunk_in_order_waits_for_the_rest() -> None:
    assembler, answer = fed((0, 10), (1, 11))
    assert answer == Waiting()
    assert assembler.pending == ("p-7",)


def test_last_chunk_completes_the_message() -> None:
    assembler, answer = fed((0, 10), (1, 11), (2, 12))
    assert answer == Assembled(DATA, ((1, 10), (1, 11), (1, 12)))
    assert assembler.pending == ()


def test_first_chunk_redelivered_restarts() -> None:
    assembler, answer = fed((0, 10), (1, 11), (0, 10))
    assert answer == Restarted(((1, 10), (1, 11)), redelivered=True)
    assert add(assembler, 1, 11) == Waiting()
    assert add(assembler, 2, 12) == Assembled(DATA, ((1, 10), (1, 11), (1, 12)))


def test_first_chunk_resent_restarts() -> None:
    _, answer = fed((0, 10), (1, 11), (0, 20))
    assert answer == Restarted(((1, 10), (1, 11)), redelivered=False)


def test_later_chunk_redelivered_is_ignored() -> None:
    assembler, answer = fed((0, 10), (1, 11), (1, 11))
    assert answer == Duplicate(redelivered=True)
    assert add(assembler, 2, 12) == Assembled(DATA, ((1, 10), (1, 11), (1, 12)))


def test_later_chunk_resent_is_ignored() -> None:
    _, answer = fed((0, 10), (1, 11), (1, 20))
    assert answer == Duplicate(redelivered=False)


def test_gap_forgets_the_message() -> None:
    assembler, answer = fed((0, 10), (2, 12))
    assert answer == Gap(((1, 10),))
    assert assembler.pending == ()
    assert add(assembler, 1, 11) == Gap(())


def test_chunk_without_a_beginning_is_a_gap() -> None:
    assert fed((1, 11))[1] == Gap(())


def test_messages_interleave() -> None:
    assembler = ChunkAssembler()
    other = split_chunks(MessageMetadata(producer_name="q", sequence_id=1), b"123456", 3)
    add(assembler, 0, 10)
    assembler.add(*other[0], (1, 11))
    add(assembler, 1, 12)
    assert assembler.pending == ("p-7", "q-1")
    assert assembler.add(*other[1], (1, 13)) == Assembled(b"123456", ((1, 11), (1, 13)))
    assert add(assembler, 2, 14) == Assembled(DATA, ((1, 10), (1, 12), (1, 14)))


def test_discarded_message_tells_its_ids() -> None:
    assembler, _ = fed((0, 10), (1, 11))
    assert assembler.discard("p-7") == ((1, 10), (1, 11))
    assert assembler.discard("p-7") == ()


CONTRADICTIONS = {
    "another count": (1, {"num_chunks_from_msg": 4}, b"def"),
    "another total size": (1, {"total_chunk_msg_size": 9}, b"def"),
    "more than the total size": (1, {}, b"defghi"),
    "less than the total size": (2, {}, b"g"),
    "a number outside the count": (1, {"chunk_id": 3}, b"def"),
    "a negative number": (1, {"chunk_id": -1}, b"def"),
    "a count of one": (1, {"num_chunks_from_msg": 1, "chunk_id": 0, "total_chunk_msg_size": 3}, b"def"),
}


@pytest.mark.parametrize(("number", "changes", "data"), CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_contradicting_chunk_forgets_the_message(number: int, changes: dict[str, int], data: bytes) -> None:
    assembler, _ = fed(*((before, 10 + before) for before in range(number)))
    chunk = MessageMetadata()
    chunk.CopyFrom(CHUNKS[number][0])
    chunk.MergeFrom(MessageMetadata(**changes))  # type: ignore[arg-type]
    with pytest.raises(ChunkError):
        assembler.add(chunk, data, (1, 99))
    assert assembler.pending == ()
