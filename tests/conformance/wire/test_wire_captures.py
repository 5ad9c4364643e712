"""Every recorded frame of real clients and a real broker decodes, and encodes to the same bytes again.

Protobuf leaves the order of fields to the writer. `encode`, like most, writes them by number; the Java client's CONNECT
and two hand-made frames have an order of their own, and which frames those are is part of the test. `reencode` keeps to
the order it finds and gives every frame again: unchanged, and changed and changed back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from assay_conformance.wire import (
    BODY_FIELDS,
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
    reencode,
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


def changed(message: Any) -> Any:
    """The same with another value in each single field that is there and is no message."""
    other = type(message)()
    other.CopyFrom(message)
    for field, value in message.ListFields():
        if not field.is_repeated and field.message_type is None:
            setattr(other, field.name, another(field, value))
    return other


def another(field: Any, value: Any) -> Any:
    if field.enum_type is not None:
        return next(number for number in field.enum_type.values_by_number if number != value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, str | bytes):
        return value[1:]
    return value ^ 1 if isinstance(value, int) else value + 1


def changed_command(frame: Frame) -> BaseCommand:
    wanted = BaseCommand()
    wanted.CopyFrom(frame.command)
    if frame.body is not None:
        getattr(wanted, BODY_FIELDS[frame.type]).CopyFrom(changed(frame.body))
    return wanted


def test_captures_are_there() -> None:
    assert len(FILES) == 61
    assert sum(1 for path in FILES for _ in frames(path)) > 2000


@every_file
def test_recorded_frame_decodes_to_its_command(path: Path) -> None:
    for record, frame in frames(path):
        assert (frame.type.name if isinstance(frame.type, CommandType) else str(frame.type)) == record["cmd"]


@every_file
def test_recorded_frame_encodes_to_same_bytes(path: Path) -> None:
    for record, frame in frames(path):
        if (path.parent.name, record["cmd"]) not in OWN_FIELD_ORDER:
            assert again(frame).hex() == frame.raw.hex()


@every_file
def test_recorded_frame_reencodes_to_same_bytes(path: Path) -> None:
    for _, frame in frames(path):
        metadata = None if frame.payload is None else frame.payload.metadata
        assert reencode(frame, frame.command, metadata).hex() == frame.raw.hex()


@every_file
def test_recorded_frame_changed_and_changed_back_is_the_same(path: Path) -> None:
    for _, frame in frames(path):
        metadata = None if frame.payload is None else frame.payload.metadata
        wanted, wanted_metadata = changed_command(frame), None if metadata is None else changed(metadata)
        other = decode(reencode(frame, wanted, wanted_metadata))
        assert other.command == wanted
        assert other.payload is None or other.payload.metadata == wanted_metadata
        assert reencode(other, frame.command, metadata).hex() == frame.raw.hex()


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
    """Frames whose recording ends inside their payload."""
    cut = [record for path in FILES for record in records(path) if "cut" in record]
    return [record for record in cut if record["cmd"] in ("SEND", "MESSAGE")]


@pytest.mark.parametrize("record", cut_payload_frames(), ids=lambda record: f"{record['cmd']}-{record['cut']}")
def test_head_of_cut_frame_tells_its_metadata(record: dict[str, Any]) -> None:
    raw = bytes.fromhex(record["hex"]).ljust(record["cut"], b"\0")
    frame = decode(raw)
    assert frame.payload is not None
    assert frame.payload.metadata.publish_time > 0
    assert not frame.payload.checksum_ok()
