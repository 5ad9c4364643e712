"""Reading segment files as they grow: blocks in pieces of bounded size, torn ends and damage counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from assay_conformance.ledger.declarations import SegmentOpened
from assay_conformance.ledger.segments import MOST_BYTES, RECORDS, SUFFIX, Block, BlockKind, Scan, declared, scan
from assay_conformance.model.errors import UsageError
from assay_conformance.model.schema import FileKind, parse_version, upgrader

WINDOW = 4 * MOST_BYTES

_CODES = {"q": "<i8", "i": "<i4", "I": "<u4", "H": "<u2", "B": "u1"}
DTYPES = {
    kind: np.dtype(
        {
            "names": [field.name for field in record.fields],
            "formats": [_CODES[field.code] for field in record.fields],
            "itemsize": record.size,
        }
    )
    for kind, record in RECORDS.items()
}


class SegmentFile:
    """One file. `damage` holds sentences about blocks that could not be read; `dropped` their bytes, and torn ones."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.used = 0
        self.ended = False
        self.dropped = 0
        self.damage: list[str] = []
        self._opened: SegmentOpened | None = None

    @property
    def opened(self) -> SegmentOpened | None:
        """Its first line, once it is there. UsageError when the file begins with anything else."""
        if self._opened is None:
            with self.path.open("rb") as file:
                first = next(iter(scan(file.read(MOST_BYTES)).blocks), None)
            if first is not None:
                self._opened = _opening(self.path, first)
        return self._opened

    def pieces(self, final: bool) -> Iterator[list[Block]]:
        """What is new, in pieces of some megabytes; at the last look, what is torn is given up."""
        with self.path.open("rb") as file:
            file.seek(self.used)
            held = b""
            while data := file.read(WINDOW):
                held += data
                found = _whole_writes(scan(held, self.used), self.used, len(held))
                yield from self._read(found)
                held = held[found.used :]
            if held and final:
                found = scan(held, self.used, ended=True)
                yield from self._read(found)
                self.dropped += len(held) - found.used

    def _read(self, found: Scan) -> Iterator[list[Block]]:
        self.used += found.used
        self._note(found.damage)
        if found.blocks:
            self.ended = found.blocks[-1].kind == BlockKind.END
            yield list(found.blocks)

    def again(self, start: int, stop: int) -> Iterator[list[Block]]:
        """What was read before, between two values of `used`."""
        with self.path.open("rb") as file:
            file.seek(start)
            held = b""
            while start < stop and (data := file.read(min(WINDOW, stop - start - len(held)))):
                held += data
                found = scan(held, start, ended=start + len(held) == stop)
                if start + len(held) < stop:
                    found = _whole_writes(found, start, len(held))
                start += found.used
                held = held[found.used :]
                yield list(found.blocks)

    def _note(self, damage: Any) -> None:
        for one in damage:
            self.dropped += one.skipped
            where = f"{self.path.name}: the block at byte {one.at}"
            self.damage.append(f"{where} cannot be read, {one.skipped} bytes skipped")


def _whole_writes(found: Scan, start: int, held: int) -> Scan:
    """Up to the last clock sample, which ends a write: what a consumer got and what it said of it stay together."""
    last = max((at for at, one in enumerate(found.blocks) if one.kind in _LAST), default=None)
    if last is None:
        return found if held >= WINDOW else Scan((), 0, ())
    behind = found.blocks[last + 1 :]
    used = behind[0].at - start if behind else found.used
    return Scan(found.blocks[: last + 1], used, tuple(one for one in found.damage if one.at < start + used))


_LAST = (BlockKind.CLOCKS, BlockKind.END)


def segment_files(folder: Path) -> list[SegmentFile]:
    """The segment files of a folder, in the order of their names. UsageError when it cannot be read."""
    try:
        return [SegmentFile(path) for path in sorted(folder.iterdir()) if path.suffix == SUFFIX]
    except OSError as error:
        raise UsageError(f"{folder}: expected a folder with segments: {error.strerror}") from error


def columns(one: Block) -> dict[str, Any]:
    """The records of a block, as numpy columns of 64 bits."""
    dtype = DTYPES[BlockKind(one.kind)]
    rows = np.frombuffer(one.body[: len(one.body) // dtype.itemsize * dtype.itemsize], dtype)
    return {name: rows[name].astype(np.int64) for name in dtype.names or ()}


def _opening(path: Path, first: Block) -> SegmentOpened:
    line = next(declared(first), None) if first.kind == BlockKind.DECLARATIONS else None
    if not isinstance(line, SegmentOpened):
        raise UsageError(f"{path}: begins with no `segment` line, so it is no segment file")
    upgrader(FileKind.LEDGER, parse_version(line.schema, str(path)), str(path))
    return line
