"""Reading segment files as they grow: blocks in pieces of bounded size, torn ends and damage counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np

from assay_conformance.ledger.declarations import Declaration, SegmentOpened
from assay_conformance.ledger.segments import (
    HEAD_BYTES,
    MOST_BYTES,
    RECORDS,
    SUFFIX,
    Block,
    BlockKind,
    Damage,
    Scan,
    declared,
    is_torn,
    scan,
)
from assay_conformance.model.errors import UsageError
from assay_conformance.model.schema import FileKind, parse_version, upgrader
from assay_reports.files import open_regular

WINDOW = 4 * MOST_BYTES
KEPT = 5
"""Broken blocks of a file that are reported one by one."""

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
    """One file. `begun`: there is a good block in it. `dropped`: bytes that could not be read, and torn ones; `notes`:
    sentences about them.

    `broken`: rows of any time may have been in them; `nameless`: it is unknown whose these are, for declarations may
    have been in them too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.used = 0
        self.begun = False
        self.ended = False
        self.torn = 0
        self.broken = False
        self.nameless = False
        self._damage: list[Damage] = []
        self._opened: SegmentOpened | None = None

    @property
    def dropped(self) -> int:
        return self.torn + sum(one.skipped for one in self._damage)

    @property
    def name(self) -> str:
        """Return NAME of NAME.seg and NAME.000000.seg."""
        return self.path.name.partition(".")[0]

    def opened(self, final: bool) -> SegmentOpened | None:
        """Return the opening of the file; where that cannot be read, one made of the file's name.

        None while it may still be written (not `final`). Raises UsageError when the first good block is no opening.
        """
        if self._opened is None:
            with self._open() as file:
                data = file.read(WINDOW)
            first = next(iter(scan(data).blocks), None)
            if first is not None and first.at == 0:
                self._opened = _opening(self.path, first)
            elif final or not is_torn(data):
                self._opened = SegmentOpened(writer=self.name)
                self.broken = self.nameless = not is_torn(data)
        return self._opened

    def pieces(self, final: bool) -> Iterator[list[Block]]:
        """Yield what is new, in pieces of some megabytes; at the last look, what is torn is given up."""
        for found in self._scans(self.used, None):
            yield from self._read(found)
        if final and (left := self._left()):
            found = scan(left, self.used, ended=True)
            yield from self._read(found)
            self.torn += len(left) - found.used

    def again(self, start: int, stop: int) -> Iterator[list[Block]]:
        """Yield what was read before, between two values of `used`."""
        for found in self._scans(start, stop):
            if found.blocks:
                yield list(found.blocks)

    def doubt(self) -> None:
        """Take note that rows of an unknown writer are missing."""
        self.broken = self.nameless = True

    @property
    def notes(self) -> list[str]:
        found = [f"{self.path.name}: {_sentence(one)}" for one in self._damage[:KEPT]]
        if more := self._damage[KEPT:]:
            found.append(f"{self.path.name}: so {len(more)} more blocks, {sum(one.skipped for one in more)} bytes")
        if self.torn:
            found.append(f"{self.path.name}: half a block at its end, {self.torn} bytes dropped")
        return found

    # --- reading ---

    def _scans(self, start: int, stop: int | None) -> Iterator[Scan]:
        """Up to the last whole write, or up to `stop`, in pieces."""
        with self._open() as file:
            file.seek(start)
            held = b""
            while data := file.read(WINDOW if stop is None else min(WINDOW, stop - start - len(held))):
                held += data
                found = self._scanned(held, start, last=start + len(held) == stop)
                start += found.used
                held = held[found.used :]
                yield found

    def _scanned(self, held: bytes, start: int, last: bool) -> Scan:
        found = scan(held, start, ended=last)
        if last:
            return found
        if not found.blocks and len(held) > WINDOW:
            # Nothing begins in this that would not have ended in it.
            skipped = len(held) - MOST_BYTES - HEAD_BYTES
            return Scan((), skipped, (Damage(start, skipped),))
        return _whole_writes(found, start, len(held))

    def _left(self) -> bytes:
        with self._open() as file:
            file.seek(self.used)
            return file.read()

    def _open(self) -> BinaryIO:
        return open_regular(self.path, "a segment file")

    def _read(self, found: Scan) -> Iterator[list[Block]]:
        self.used += found.used
        for one in found.damage:
            self._note(one)
        if found.blocks:
            self.begun = True
            self.ended = found.blocks[-1].kind == BlockKind.END
            yield list(found.blocks)

    def _note(self, damage: Damage) -> None:
        last = self._damage[-1] if self._damage else None
        if last is not None and last.at + last.skipped == damage.at:
            self._damage[-1] = damage = Damage(last.at, last.skipped + damage.skipped)
        else:
            self._damage.append(damage)
        if damage.kind not in _WITHOUT_ROWS:
            self.broken = True
            # What is stored is of everybody's streams.
            self.nameless = self.nameless or damage.rows is None or damage.kind == BlockKind.STORED


_WITHOUT_ROWS = (BlockKind.CLOCKS, BlockKind.END)


def _sentence(damage: Damage) -> str:
    where = f"the block at byte {damage.at} cannot be read, {damage.skipped} bytes dropped"
    if damage.kind in _WITHOUT_ROWS:
        return f"{where}; there were no rows in it"
    if damage.rows is None:
        return f"{where}; it is unknown how many rows it held, and whose"
    assert damage.kind is not None
    return f"{where}; there were {damage.rows} {damage.kind.name.lower()} in it"


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
    """Return the segment files of a folder, in the order of their names. UsageError when it cannot be read."""
    try:
        return [SegmentFile(path) for path in sorted(folder.iterdir()) if path.suffix == SUFFIX]
    except OSError as error:
        raise UsageError(f"{folder}: expected a folder with segments: {error.strerror}") from error


def columns(one: Block) -> dict[str, Any]:
    """Return the records of a block, as numpy columns of 64 bits."""
    dtype = DTYPES[BlockKind(one.kind)]
    rows = np.frombuffer(one.body[: len(one.body) // dtype.itemsize * dtype.itemsize], dtype)
    return {name: rows[name].astype(np.int64) for name in dtype.names or ()}


def declarations(path: Path, one: Block) -> list[Declaration]:
    """Return what a block of this file declares. UsageError that names it when that is no declaration."""
    try:
        return list(declared(one))
    except msgspec.DecodeError as error:
        raise UsageError(f"{path}: the block at byte {one.at} declares what is none: {error}") from error


def _opening(path: Path, first: Block) -> SegmentOpened:
    line = next(iter(declarations(path, first)), None) if first.kind == BlockKind.DECLARATIONS else None
    if not isinstance(line, SegmentOpened):
        raise UsageError(f"{path}: begins with no `segment` line, so it is no segment file")
    upgrader(FileKind.LEDGER, parse_version(line.schema, str(path)), str(path))
    return line
