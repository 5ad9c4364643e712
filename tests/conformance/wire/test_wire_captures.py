"""Every recorded frame of real clients and a real broker decodes, and encodes to the same bytes again.

Protobuf leaves the order of fields to the writer. The codec, like most, writes them by number; the Java client's
CONNECT and two hand-made frames have an order of their own. Those are compared after putting their fields in order,
and which frames need it is part of the test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from assay_conformance.wire import (
    Assembled,
    BaseCommand,
    ChunkAssembler,
    Codec,
    CommandType,
    Frame,
    ProtocolError,
    Splitter,
    decode,
    decode_batch,
    decompress,
    encode,
    encode_around,
    is_batch,
    is_chunk,
)

CAPTURES: Final = Path(__file__).resolve().parents[3] / "fixtures/golden/captures"
FILES: Final = sorted(CAPTURES.glob("*/*.jsonl"))
MALFORMED: Final = {("raw/bad_sizes.jsonl", "PING"), ("raw/garbage_command.jsonl", "None")}
WRONG_CHECKSUMS: Final = {"raw/send_bad_crc.jsonl": 1}
OWN_FIELD_ORDER: Final = {("pulsar-java-4.2.4", "CONNECT"), ("raw", "CONNECT"), ("raw", "SUBSCRIBE")}

every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def records(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines():
        record = json.loads(line)
        if "hex" in record:
            yield record


def frames(path: Path) -> Iterator[tuple[dict[str, Any], Frame]]:
    for record in records(path):
        if "cut" not in record and (name_of(path), record["cmd"]) not in MALFORMED:
            yield record, decode(bytes.fromhex(record["hex"]))


def again(frame: Frame) -> bytes:
    """The frame, from what was read out of it."""
    payload = frame.payload
    if payload is None:
        return encode(frame.command)
    if not payload.checksum_ok():
        return encode_around(frame.command, payload.block, broker_entry=payload.broker_entry)
    return encode(
        frame.command,
        metadata=payload.metadata,
        data=payload.data,
        checksum=payload.checksum is not None,
        broker_entry=payload.broker_entry,
    )


def in_order(message: bytes, descriptor: Any) -> bytes:
    """The same fields by number, those of messages inside too; fields of one number keep their order."""
    found: list[tuple[int, bytes]] = []
    start = 0
    while start < len(message):
        tag, after_tag = varint(message, start)
        field = descriptor.fields_by_number[tag >> 3]
        if tag & 7 == 0:
            _, end = varint(message, after_tag)
            found.append((tag, message[start:end]))
        else:
            assert tag & 7 == 2
            size, body = varint(message, after_tag)
            end = body + size
            inner = message[body:end]
            if field.message_type is not None:
                inner = in_order(inner, field.message_type)
            found.append((tag, message[start:body] + inner))
        start = end
    return b"".join(part for _, part in sorted(found, key=lambda item: item[0]))


def varint(message: bytes, start: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (message[start] & 127) << shift
        shift += 7
        start += 1
        if message[start - 1] < 128:
            return value, start


def test_captures_are_there() -> None:
    assert len(FILES) == 60
    assert sum(1 for path in FILES for _ in frames(path)) > 2000


@every_file
def test_recorded_frame_decodes_to_its_command(path: Path) -> None:
    for record, frame in frames(path):
        assert (frame.type.name if isinstance(frame.type, CommandType) else str(frame.type)) == record["cmd"]


@every_file
def test_recorded_frame_encodes_to_same_bytes(path: Path) -> None:
    for record, frame in frames(path):
        raw = frame.raw
        if (path.parent.name, record["cmd"]) in OWN_FIELD_ORDER:
            end = 8 + int.from_bytes(raw[4:8], "big")
            raw = raw[:8] + in_order(raw[8:end], BaseCommand.DESCRIPTOR) + raw[end:]
        assert again(frame).hex() == raw.hex()


def test_only_known_frames_have_own_field_order() -> None:
    reordered = {
        (path.parent.name, record["cmd"])
        for path in FILES
        for record, frame in frames(path)
        if again(frame) != frame.raw
    }
    assert reordered == OWN_FIELD_ORDER


@every_file
def test_recorded_checksums_fit(path: Path) -> None:
    payloads = [frame.payload for _, frame in frames(path) if frame.payload is not None]
    wrong = sum(1 for payload in payloads if not payload.checksum_ok())
    assert wrong == WRONG_CHECKSUMS.get(name_of(path), 0)


@every_file
def test_recorded_payloads_unpack(path: Path) -> None:
    for _, frame in frames(path):
        if frame.payload is None or is_chunk(frame.payload.metadata):
            continue
        metadata = frame.payload.metadata
        data = decompress(Codec(metadata.compression), frame.payload.data, metadata.uncompressed_size, 5 << 20)
        assert not metadata.compression or len(data) == metadata.uncompressed_size
        if is_batch(metadata):
            assert len(decode_batch(data, metadata.num_messages_in_batch)) == metadata.num_messages_in_batch


def test_all_codecs_are_recorded() -> None:
    path = CAPTURES / "pulsar-python-3.13.0/compression.jsonl"
    seen = {frame.payload.metadata.compression for _, frame in frames(path) if frame.payload is not None}
    assert seen >= {Codec.LZ4, Codec.ZLIB, Codec.ZSTD, Codec.SNAPPY}


def test_recorded_chunks_join() -> None:
    assembler = ChunkAssembler()
    joined: list[bytes] = []
    for _, frame in frames(CAPTURES / "raw/dedup_chunks.jsonl"):
        if frame.type is CommandType.MESSAGE and frame.payload is not None and is_chunk(frame.payload.metadata):
            place = (frame.body.message_id.ledgerId, frame.body.message_id.entryId)
            added = assembler.add(frame.payload.metadata, frame.payload.data, place)
            if isinstance(added, Assembled):
                joined.append(added.data)
    assert joined
    assert all(joined)


@pytest.mark.parametrize(("name", "command"), sorted(MALFORMED))
def test_recorded_malformed_frame_is_refused(name: str, command: str) -> None:
    (record,) = [record for record in records(CAPTURES / name) if record["cmd"] == command]
    with pytest.raises(ProtocolError):
        decode(bytes.fromhex(record["hex"]))


@every_file
def test_recorded_streams_split_anywhere(path: Path) -> None:
    raws = [frame.raw for _, frame in frames(path)]
    stream = b"".join(raws)
    for step in (1, 7, 1000):
        splitter = Splitter()
        pieces = [stream[start : start + step] for start in range(0, len(stream), step)]
        assert [frame for piece in pieces for frame in splitter.feed(piece)] == raws


def cut_payload_frames() -> list[dict[str, Any]]:
    return [record for path in FILES for record in records(path) if "cut" in record]


@pytest.mark.parametrize("record", cut_payload_frames(), ids=lambda record: f"{record['cmd']}-{record['cut']}")
def test_head_of_cut_frame_tells_its_metadata(record: dict[str, Any]) -> None:
    raw = bytes.fromhex(record["hex"]).ljust(record["cut"], b"\0")
    frame = decode(raw)
    assert frame.payload is not None
    assert frame.payload.metadata.publish_time > 0
    assert not frame.payload.checksum_ok()
