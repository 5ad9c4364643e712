"""Segments: how a client's process writes what it did, at a cost the client does not feel, in any language.

A writer is one process. It appends to one file, `NAME.seg`, and may go on in a next one: `NAME.000000.seg`,
`NAME.000001.seg`, ..., read in the order of their names. A file is a sequence of blocks and nothing else:

- the four bytes `SEGB`; then, little-endian, kind u32, length u32, and CRC-32 (zlib) u32 of kind, length and body as
  they stand; then the body of that length, 1 MiB at most
- kind 1: declarations, one JSON object a line, UTF-8; the first block of every file is one, and its first line is the
  `segment` line
- kinds 2 to 6: records of one kind, all of the same size, one after the other
- kind 7: clock samples
- kind 8, empty: the writer ends, and has written everything

A writer gathers records by kind and writes all of them in one call of the system, declarations first and a clock sample
last, when one kind fills 64 KiB, and twice a second while there are any. So whatever is in a file was written after
everything it speaks about. The `segment` line is written as the file is opened, streams and consumers before the first
message of theirs is sent or taken: who was killed before that has lost no row.

A killed writer leaves half a block at the end of its last file, or nothing yet in a new one: readers drop it and say
how many bytes. A block whose CRC is wrong is named and skipped; the reader goes on where the next one begins, and knows
that rows are missing: of what the file has declared, where the block's header fits what follows and says that it held
records; else of anybody. A file whose beginning cannot be read is NAME's.

Times are microseconds of the writer's own monotonic clock; -1 where there is none. Streams are numbered by the bench
for the whole run: that number is the handle of the identity in their payloads, and `seq` its number. Keys and consumers
are numbered by the writer from 0, and declared before they are used, in each file of its own.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import msgspec

from assay_conformance.ledger.declarations import TAGS, Declaration, SegmentOpened

MARK = b"SEGB"
HEAD_BYTES = 16
SUFFIX = ".seg"
BLOCK_BYTES = 1 << 16
MOST_BYTES = 1 << 20
FLUSH_S = 0.5
NO_TIME = -1

_HEAD = struct.Struct("<4sIII")
_CHECKED = struct.Struct("<II")

Data = bytes | memoryview


class BlockKind(IntEnum):
    DECLARATIONS = 1
    ATTEMPTS = 2
    OUTCOMES = 3
    DELIVERIES = 4
    ACKS = 5
    STORED = 6
    CLOCKS = 7
    END = 8


_KINDS = frozenset(BlockKind)


class Said(IntEnum):
    """`kind` of an ack record. ACK_UPTO: cumulative, up to this message."""

    ACK = 0
    NACK = 1
    ACK_UPTO = 2


@dataclass(frozen=True, slots=True)
class Field:
    """`code`: q i64, i i32, I u32, H u16, B u8."""

    name: str
    code: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Record:
    """Fields after one another without gaps, little-endian, filled up with `pad` zero bytes."""

    fields: tuple[Field, ...]
    pad: int = 0

    @property
    def layout(self) -> str:
        """For `struct`."""
        return "<" + "".join(field.code for field in self.fields) + "x" * self.pad

    @property
    def size(self) -> int:
        return struct.calcsize(self.layout)


_SEQ = Field("seq", "q", "number of the message in its stream")
_T = Field("t", "q", "when")
_STREAM = Field("stream", "i", "the stream, by its number in the run")
_CONSUMER = Field("consumer", "i", "the consumer, as declared")
_KEY = Field("key", "i", "the key, as declared; -1: none")
_SIZE = Field("size", "I", "bytes of the payload")
_CRC = Field("crc", "I", "CRC-32 (zlib) of the uncompressed payload")
_LEDGER = Field("ledger", "q", "ledger of the message id; -1: none was reported")
_ENTRY = Field("entry", "q", "entry of the message id")
_BATCH = Field("batch", "i", "index inside its batch; -1: alone in its entry")
_ATTEMPT = Field("attempt", "H", "0: first call for this message; then 1, 2, ...")

RECORDS: Mapping[BlockKind, Record] = {
    BlockKind.ATTEMPTS: Record(
        (
            _SEQ,
            _T,
            Field("deliver_at", "q", "not to be delivered before; -1: at once"),
            _STREAM,
            _KEY,
            _SIZE,
            _CRC,
            _ATTEMPT,
        ),
        pad=2,
    ),
    BlockKind.OUTCOMES: Record(
        (
            _SEQ,
            _T,
            _LEDGER,
            _ENTRY,
            _STREAM,
            _BATCH,
            _ATTEMPT,
            Field("code", "B", "0 ok, 1 surely not stored, 2 unknown: may be stored"),
        ),
        pad=1,
    ),
    BlockKind.DELIVERIES: Record(
        (
            _SEQ,
            _T,
            _LEDGER,
            _ENTRY,
            _STREAM,
            _CONSUMER,
            _KEY,
            _BATCH,
            _SIZE,
            _CRC,
            Field("redeliv", "H", "redelivery count, as the broker tells it"),
        ),
        pad=2,
    ),
    BlockKind.ACKS: Record(
        (
            _SEQ,
            _T,
            Field("t_done", "q", "when the call ended well; -1: it did not, or the client does not tell"),
            _LEDGER,
            _ENTRY,
            _STREAM,
            _CONSUMER,
            _BATCH,
            Field("kind", "B", "0 ack, 1 nack, 2 cumulative ack up to this message"),
        ),
        pad=3,
    ),
    BlockKind.STORED: Record(
        (
            _SEQ,
            _LEDGER,
            _ENTRY,
            _STREAM,
            _BATCH,
            _CRC,
            Field("chunk", "H", "number of the chunk; 0 where the message is in one piece"),
            Field("chunks", "H", "chunks of the message; 1: in one piece"),
        )
    ),
    BlockKind.CLOCKS: Record(
        (_T, Field("unix_us", "q", "µs since 1970 at that moment, by the clock on this machine's wall"))
    ),
}


class Block(NamedTuple):
    """`at`: offset in the file."""

    kind: int
    at: int
    body: memoryview


class Damage(NamedTuple):
    """A block that cannot be read: where it begins, and how many bytes were skipped. `kind` is what its header says,
    where that fits what follows; None: there may have been anything."""

    at: int
    skipped: int
    kind: BlockKind | None = None

    @property
    def rows(self) -> int | None:
        """How many records were in it; None if unknown."""
        record = None if self.kind is None else RECORDS.get(self.kind)
        return None if record is None else (self.skipped - HEAD_BYTES) // record.size


class Scan(NamedTuple):
    """`used`: bytes that are done with; what follows them is the beginning of a block, or nothing."""

    blocks: tuple[Block, ...]
    used: int
    damage: tuple[Damage, ...]


def block(kind: BlockKind, body: Data) -> bytes:
    checked = _CHECKED.pack(kind, len(body))
    return b"".join((MARK, checked, zlib.crc32(body, zlib.crc32(checked)).to_bytes(4, "little"), body))


def scan(data: Data, at: int = 0, ended: bool = False) -> Scan:
    """Return the whole blocks of a file's bytes; `at` is the offset of the first byte.

    That is 0, or what an earlier scan had used. Blocks of a kind this version does not know are delivered as well. A
    file that grows is scanned again from `at + used`; once it has `ended`, the bytes behind `used` are torn: the
    beginning of a block, and no more of it.
    """
    view = memoryview(data)
    blocks: list[Block] = []
    damage: list[Damage] = []
    here = 0
    while here < len(view):
        end = _end_of_block(view, here)
        if end is not None and end > here:
            blocks.append(Block(_HEAD.unpack_from(view, here)[1], at + here, view[here + HEAD_BYTES : end]))
            here = end
            continue
        # Half a block may become a whole one, unless its length is what is wrong.
        onward = _next_block(view, here + 1) if ended or end is not None else None
        if onward is None and ended and end is not None:
            onward = len(view)
        if onward is None:
            break
        damage.append(Damage(at + here, onward - here, _kind_in_header(view, here, onward)))
        here = onward
    return Scan(tuple(blocks), here, tuple(damage))


def is_torn(data: Data) -> bool:
    """Return whether this may be the beginning of a block that goes on: a writer killed in a write leaves that."""
    return _end_of_block(memoryview(data), 0) is None


def _kind_in_header(view: memoryview, here: int, onward: int) -> BlockKind | None:
    """Return the kind in the header of a broken block, when it has the length that the header says."""
    if onward - here < HEAD_BYTES:
        return None
    mark, kind, length, _ = _HEAD.unpack_from(view, here)
    fits = mark == MARK and here + HEAD_BYTES + length == onward and kind in _KINDS
    return BlockKind(kind) if fits else None


def _end_of_block(view: memoryview, here: int) -> int | None:
    """Return where the block at `here` ends; `here` itself when there is none; None when it goes on after the data."""
    if not MARK.startswith(bytes(view[here : here + len(MARK)])):
        return here
    if len(view) - here < HEAD_BYTES:
        return None
    _, kind, length, crc = _HEAD.unpack_from(view, here)
    if length > MOST_BYTES:
        return here
    end: int = here + HEAD_BYTES + length
    if end > len(view):
        return None
    body = view[here + HEAD_BYTES : end]
    return end if zlib.crc32(body, zlib.crc32(_CHECKED.pack(kind, length))) == crc else here


def _next_block(view: memoryview, start: int) -> int | None:
    """Return the next place from which a whole block can be read."""
    data = bytes(view[start:])
    found = data.find(MARK)
    while found >= 0:
        end = _end_of_block(view, start + found)
        if end is not None and end > start + found:
            return start + found
        found = data.find(MARK, found + 1)
    return None


def records(one: Block) -> Iterator[tuple[Any, ...]]:
    """Return the records of a block, each with the fields of `RECORDS`.

    A body of another length ends with the last whole record.
    """
    layout = struct.Struct(RECORDS[BlockKind(one.kind)].layout)
    return layout.iter_unpack(one.body[: len(one.body) // layout.size * layout.size])


def declared(one: Block) -> Iterator[Declaration]:
    """Yield the declarations of a block; those that only a newer writer knows are left out.

    Raises msgspec.DecodeError where one is none.
    """
    for line in bytes(one.body).splitlines():
        try:
            yield msgspec.json.decode(line, type=Declaration)
        except msgspec.ValidationError:
            said = msgspec.json.decode(line)
            if not isinstance(said, dict) or said.get("declares") in TAGS:
                raise


class SegmentWriter:
    """Writes one file through `write`, which gets whole blocks. `clock` gives (monotonic µs, µs since 1970).

    `attempt`, `outcome`, `delivery`, `ack` and `stored` each take the fields of their record in order. Times are of the
    same monotonic clock. Calls must not overlap: a client that calls back in threads of its own holds a lock around
    each. The caller calls `flush` every `FLUSH_S` seconds, and `close` at its end.
    """

    def __init__(
        self, write: Callable[[bytes], object], clock: Callable[[], tuple[int, int]], opening: SegmentOpened
    ) -> None:
        self._write = write
        self._clock = clock
        self._declared: list[Declaration] = [opening]
        self._rows: dict[BlockKind, list[bytes]] = {kind: [] for kind in RECORDS if kind is not BlockKind.CLOCKS}
        self.attempt = self._adder(BlockKind.ATTEMPTS)
        self.outcome = self._adder(BlockKind.OUTCOMES)
        self.delivery = self._adder(BlockKind.DELIVERIES)
        self.ack = self._adder(BlockKind.ACKS)
        self.stored = self._adder(BlockKind.STORED)
        self.flush()

    def _adder(self, kind: BlockKind) -> Callable[..., None]:
        # Closed over, not looked up: this runs for every message of the client under test.
        layout = struct.Struct(RECORDS[kind].layout)
        rows, pack, most, flush = self._rows[kind], layout.pack, BLOCK_BYTES // layout.size, self.flush
        append = rows.append

        def add(*fields: int) -> None:
            append(pack(*fields))
            if len(rows) >= most:
                flush()

        return add

    def declare(self, declaration: Declaration) -> None:
        self._declared.append(declaration)

    def flush(self) -> None:
        blocks = []
        if self._declared:
            blocks.append(block(BlockKind.DECLARATIONS, b"\n".join(map(msgspec.json.encode, self._declared))))
            self._declared.clear()
        for kind, rows in self._rows.items():
            if rows:
                blocks.append(block(kind, b"".join(rows)))
                rows.clear()
        if blocks:
            sample = struct.pack(RECORDS[BlockKind.CLOCKS].layout, *self._clock())
            self._write(b"".join((*blocks, block(BlockKind.CLOCKS, sample))))

    def close(self) -> None:
        """Flush, and say that nothing is missing."""
        self.flush()
        self._write(block(BlockKind.END, b""))
