"""Recordings of a real broker: JSON lines, a header first, then one line a frame or an event of a connection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from assay_conformance.model.fault import Direction
from assay_conformance.wire import BaseCommand, Frame, ProtocolError, decode, encode, encode_around, encode_block


@dataclass(frozen=True)
class Line:
    """`raw` is None for an event: `open`, `eof` or `reset` of that side of connection `conn`.

    `opening`: of a frame whose command was not recorded whole, what its first field says.
    """

    us: int
    conn: int
    direction: Direction
    event: str = ""
    raw: bytes | None = None
    opening: BaseCommand | None = None

    @property
    def is_answer(self) -> bool:
        return self.direction is Direction.TO_CLIENT

    @property
    def frame(self) -> Frame | None:
        """The decoded frame, None for an event and for what cannot be decoded."""
        if self.raw is None:
            return None
        if self.opening is not None:
            return decode(encode(self.opening))
        try:
            return decode(self.raw)
        except ProtocolError:
            return None


@dataclass(frozen=True)
class Recording:
    """`name` is `<client>/<scenario>`."""

    name: str
    header: dict[str, Any]
    lines: tuple[Line, ...]


def read(path: Path) -> Recording:
    """One file. The data of a frame cut short in it counts as zeros, its checksum made to fit."""
    with path.open("rb") as file:
        header, *records = (msgspec.json.decode(line) for line in file if line.strip())
    return Recording(f"{path.parent.name}/{path.stem}", header, tuple(map(_line, records)))


def read_folder(folder: Path) -> Iterator[Recording]:
    """Every recording in a folder of folders, in the order of their names."""
    for path in sorted(folder.glob("*/*.jsonl")):
        yield read(path)


def _line(record: dict[str, Any]) -> Line:
    line = Line(record["us"], record["conn"], Direction(record["dir"]), record.get("event", ""))
    if "hex" not in record:
        return line
    raw = bytes.fromhex(record["hex"])
    if "cut" not in record:
        return replace(line, raw=raw)
    if 8 + int.from_bytes(raw[4:8], "big") > len(raw):
        return replace(line, raw=raw, opening=_opening(raw[8:]))
    return replace(line, raw=_filled(raw, record["cut"]))


def _opening(head: bytes) -> BaseCommand:
    """The type of a command that is not whole, and its body's first field, a number in every command."""
    _, start = _varint(head, 1)
    _, body = _varint(head, _varint(head, start)[1])
    _, end = _varint(head, body + 1)
    return BaseCommand.FromString(head[: _varint(head, start)[1]] + bytes([end - body]) + head[body:end])


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A number, and where it ends."""
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position


def _filled(raw: bytes, size: int) -> bytes:
    filled = raw.ljust(size, b"\0")
    try:
        frame = decode(filled)
    except ProtocolError:
        # Cut inside the command: nothing to be read here.
        return filled
    if frame.payload is None:
        return filled
    block = encode_block(frame.payload.metadata_bytes, bytes(len(frame.payload.data)))
    return encode_around(frame.command, block)
