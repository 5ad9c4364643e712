"""Recordings of a real broker: JSON lines, a header first, then one line a frame or an event of a connection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from assay_conformance.model.fault import Direction
from assay_conformance.wire import Frame, ProtocolError, decode, encode_around, encode_block


@dataclass(frozen=True)
class Line:
    """`raw` is None for an event: `open`, `eof` or `reset` of that side of connection `conn`."""

    us: int
    conn: int
    direction: Direction
    event: str = ""
    raw: bytes | None = None

    @property
    def is_answer(self) -> bool:
        return self.direction is Direction.TO_CLIENT

    @property
    def frame(self) -> Frame | None:
        """The decoded frame, None for an event and for what cannot be decoded."""
        if self.raw is None:
            return None
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
    return replace(line, raw=_filled(raw, record["cut"]) if "cut" in record else raw)


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
