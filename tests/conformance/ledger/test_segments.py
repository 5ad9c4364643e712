"""Segments: what was written is read again, half a block is torn, a wrong one is named, and the vector says so too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay_conformance.ledger.declarations import ConsumerDeclared, KeyDeclared, SegmentOpened, StreamDeclared
from assay_conformance.ledger.segments import (
    BLOCK_BYTES,
    MOST_BYTES,
    RECORDS,
    BlockKind,
    SegmentWriter,
    block,
    declared,
    records,
    scan,
)

GOLDEN = Path(__file__).parents[3] / "fixtures" / "golden" / "segments"


class File:
    """What a writer wrote, block by block; its clock stands still."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.writer = SegmentWriter(self.writes.append, lambda: (9_000_000, 1_700_000_009_000_000), OPENING)

    @property
    def data(self) -> bytes:
        return b"".join(self.writes)


OPENING = SegmentOpened(writer="client-0", host="4f0c")


def example() -> bytes:
    """One message: sent, acknowledged by the broker, delivered, refused, delivered again, acknowledged."""
    file = File()
    write = file.writer
    write.declare(StreamDeclared(stream=3, producer="p", topic="persistent://public/default/t", case=1, seed=7))
    write.declare(KeyDeclared(key=0, text="k"))
    write.declare(ConsumerDeclared(consumer=0, subscription="s", name="c", t=1_000_000))
    write.attempt(0, 2_000_000, -1, 3, 0, 128, 0xFFFFFFFF, 0)
    write.outcome(0, 2_001_000, 12, 5, 3, -1, 0, 0)
    write.delivery(0, 2_002_000, 12, 5, 3, 0, 0, -1, 128, 0xFFFFFFFF, 0)
    write.ack(0, 2_003_000, -1, 12, 5, 3, 0, -1, 1)
    write.flush()
    write.delivery(0, 3_004_000, 12, 5, 3, 0, 0, -1, 128, 0xFFFFFFFF, 1)
    write.ack(0, 3_005_000, 3_006_000, 12, 5, 3, 0, -1, 0)
    write.stored(0, 12, 5, 3, -1, 0xFFFFFFFF, 0, 1)
    write.close()
    return file.data


def told(data: bytes) -> list[dict[str, object]]:
    """As the vector's JSON says it."""
    lines: list[dict[str, object]] = []
    for one in scan(data, ended=True).blocks:
        kind = BlockKind(one.kind)
        if kind is BlockKind.DECLARATIONS:
            rows: list[object] = [json.loads(line) for line in bytes(one.body).splitlines()]
        elif kind is BlockKind.END:
            rows = []
        else:
            names = [field.name for field in RECORDS[kind].fields]
            rows = [dict(zip(names, row, strict=True)) for row in records(one)]
        lines.append({"kind": kind.name, "at": one.at, "rows": rows})
    return lines


def test_the_vector_is_what_the_writer_writes() -> None:
    assert (GOLDEN / "example.seg").read_bytes() == example()


def test_the_vector_reads_as_its_json_says() -> None:
    assert told((GOLDEN / "example.seg").read_bytes()) == json.loads((GOLDEN / "example.json").read_text("utf-8"))


@pytest.mark.parametrize("size", [1, 7, 16, 100])
def test_a_file_that_grows_reads_as_the_whole_file(size: int) -> None:
    data = example()
    found, used = [], 0
    for end in range(0, len(data) + size, size):
        step = scan(data[used:end], used)
        found += [(one.kind, one.at, bytes(one.body)) for one in step.blocks]
        used += step.used
    assert found == [(one.kind, one.at, bytes(one.body)) for one in scan(data, ended=True).blocks]


def test_half_a_block_at_the_end_is_not_used() -> None:
    data = example()
    whole = scan(data[:-1], ended=True)
    assert (whole.used, whole.damage) == (len(data) - 16, ())


def test_a_block_whose_crc_is_wrong_is_named_and_the_next_one_is_read() -> None:
    data = bytearray(example())
    second = scan(bytes(data)).blocks[2].at
    data[second + 20] ^= 1
    read = scan(bytes(data))
    assert [damage.at for damage in read.damage] == [second]
    assert len(read.blocks) == len(scan(example()).blocks) - 1


@pytest.mark.parametrize("length", [MOST_BYTES, MOST_BYTES + 1])
def test_a_wrong_length_costs_no_more_than_its_block(length: int) -> None:
    data = bytearray(example())
    second = scan(bytes(data)).blocks[2].at
    data[second + 8 : second + 12] = length.to_bytes(4, "little")
    read = scan(bytes(data), ended=True)
    assert [damage.at for damage in read.damage] == [second]
    assert len(read.blocks) == len(scan(example()).blocks) - 1


def test_a_mark_inside_of_records_is_no_block() -> None:
    inner = block(BlockKind.ATTEMPTS, b"SEGB" * 30)
    assert [one.at for one in scan(inner * 2).blocks] == [0, len(inner)]


def test_a_full_kind_is_written_with_everything_before_it() -> None:
    file = File()
    file.writer.outcome(0, 1, 12, 5, 3, -1, 0, 0)
    for seq in range(BLOCK_BYTES // RECORDS[BlockKind.ATTEMPTS].size):
        file.writer.attempt(seq, 1, -1, 3, -1, 128, 0, 0)
    kinds = [one.kind for one in scan(file.writes[-1]).blocks]
    assert kinds == [BlockKind.ATTEMPTS, BlockKind.OUTCOMES, BlockKind.CLOCKS]


def test_a_writer_with_nothing_to_say_writes_nothing() -> None:
    file = File()
    before = len(file.writes)
    file.writer.flush()
    assert len(file.writes) == before


def test_what_a_newer_writer_declares_is_left_out() -> None:
    body = b'{"declares":"moon"}\n{"declares":"key","key":0,"text":"k","phase":1}'
    (one,) = scan(block(BlockKind.DECLARATIONS, body)).blocks
    assert list(declared(one)) == [KeyDeclared(key=0, text="k")]


def test_records_of_a_vector_keep_their_size() -> None:
    sizes = {kind: record.size for kind, record in RECORDS.items()}
    assert sizes == {
        BlockKind.ATTEMPTS: 44,
        BlockKind.OUTCOMES: 44,
        BlockKind.DELIVERIES: 60,
        BlockKind.ACKS: 56,
        BlockKind.STORED: 40,
        BlockKind.CLOCKS: 16,
    }
