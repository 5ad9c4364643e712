"""What a Parquet file says of its own sizes, compared with each other and with the file before a row is read.

Readers allocate what footers and page headers declare, and neither has a checksum. Each size stands there more than
once: offsets and totals of a column chunk in the footer; of each page a header with both sizes and a count; the length
of the file. All have to agree, and no chunk may come to more than its values can take. Pure: bytes in, words out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from assay_reports.bounds import MOST_TEXT_BYTES

MAGIC_BYTES: Final = 4
TAIL_BYTES: Final = 8
"""The footer's length, and the magic bytes again."""
HEADER_BYTES: Final = 1 << 16
"""Of a page header, with the statistics of text in it: more is none."""
WINDOW_BYTES: Final = 1 << 20
"""How much is read at once to find the next header: a request each where the file is far away."""
VALUE_BYTES: Final = 16
"""What a number takes at most: itself, its place in a dictionary, its level, and its part of the headers."""
CHUNK_BYTES: Final = 1 << 16
"""What a chunk may take besides its values: a page header each, a dictionary's, the block of an encoding."""

Read = Callable[[int, int], bytes]
"""Bytes of the file: from where, how many at most."""

_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_COUNTED_IN: Final = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}
"""Kind of page -> the field of its header that holds the rest of it, with a count of values first."""


def misfit(metadata: Any, size: int) -> str:
    """Return what of a footer cannot be true of a file of `size` bytes; "" where all may be."""
    behind = size - TAIL_BYTES - metadata.serialized_size
    begins, rows = MAGIC_BYTES, 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        rows += group.num_rows
        for place in range(group.num_columns):
            chunk = group.column(place)
            begin, end = extent(chunk)
            if not begins <= begin <= end <= behind:
                return (
                    f"the footer puts a chunk of {chunk.path_in_schema} at byte {begin} to {end}, expected it between "
                    f"{begins} and {behind}"
                )
            if chunk.num_values != group.num_rows:
                return f"the footer has {chunk.num_values} values of {chunk.path_in_schema} in {group.num_rows} rows"
            if not 0 <= chunk.total_uncompressed_size <= most_bytes(chunk):
                return (
                    f"the footer says that {chunk.num_values} values of {chunk.path_in_schema} take "
                    f"{chunk.total_uncompressed_size} bytes, expected {most_bytes(chunk)} at most"
                )
            begins = end
    return "" if rows == metadata.num_rows else f"the footer has {metadata.num_rows} rows, and {rows} in its row groups"


def extent(chunk: Any) -> tuple[int, int]:
    """Return where a column chunk begins and ends in its file, as offsets in bytes."""
    begin = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
    return begin, begin + chunk.total_compressed_size


def most_bytes(chunk: Any) -> int:
    """Return what the values of a chunk can take, uncompressed."""
    if chunk.physical_type == "BYTE_ARRAY":
        return MOST_TEXT_BYTES
    return int(chunk.num_values * VALUE_BYTES + CHUNK_BYTES)


def wrong_pages(chunk: Any, read: Read) -> str:
    """Return what the headers of a chunk's pages say that the footer does not; "" where they agree."""
    at, end = extent(chunk)
    taken = values = 0
    window = _Window(read, end)
    while at < end:
        try:
            header, length = parse(window.header(at))
            kind, uncompressed, compressed = (header[field] for field in (1, 2, 3))
            count = header[_COUNTED_IN[kind]][1]
        except (IndexError, KeyError, TypeError, ValueError):
            return f"a page of {chunk.path_in_schema} has no header at byte {at}"
        if min(uncompressed, compressed, count) < 0 or count > chunk.num_values:
            return f"a page of {chunk.path_in_schema} at byte {at} says that it holds {count} values"
        taken += length + uncompressed
        values += count if kind != _DICTIONARY else 0
        at += length + compressed
    if (at, taken, values) != (end, chunk.total_uncompressed_size, chunk.num_values):
        return (
            f"the pages of {chunk.path_in_schema} end at byte {at}, take {taken} bytes and hold {values} values; the "
            f"footer says {end}, {chunk.total_uncompressed_size} and {chunk.num_values}"
        )
    return ""


class _Window:
    """What was read last: pages are short, and the next header is mostly in it."""

    def __init__(self, read: Read, end: int) -> None:
        self._read, self._end = read, end
        self._at, self._content = 0, b""

    def header(self, at: int) -> bytes:
        """Return the bytes from `at` on that a header may take."""
        wanted = min(at + HEADER_BYTES, self._end)
        if not self._at <= at <= wanted <= self._at + len(self._content):
            self._at, self._content = at, self._read(at, min(WINDOW_BYTES, self._end - at))
        return self._content[at - self._at : wanted - self._at]


# --- Thrift's compact protocol, as far as page headers use it ---

Fields = dict[int, Any]


def parse(data: bytes) -> tuple[Fields, int]:
    """Return the fields of a structure by number, and its length. IndexError or ValueError where it is none."""
    return _structure(data, 0, 0)


_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _STRUCTURE = 1, 2, 3, 4, 5, 6, 7, 8, 9, 12
_MOST_NESTED: Final = 4


def _structure(data: bytes, at: int, depth: int) -> tuple[Fields, int]:
    if depth > _MOST_NESTED:
        raise ValueError("nested more deeply than a page header")
    found: Fields = {}
    number = 0
    while data[at]:
        step, kind = divmod(data[at], 16)
        at += 1
        if step:
            number += step
        else:
            number, at = _signed(data, at)
        found[number], at = _value(kind, data, at, depth)
    return found, at + 1


def _value(kind: int, data: bytes, at: int, depth: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind == _BYTE:
        return data[at], at + 1
    if kind in (_I16, _I32, _I64):
        return _signed(data, at)
    if kind == _DOUBLE:
        return None, _skipped(data, at, 8)
    if kind == _BINARY:
        length, at = _unsigned(data, at)
        return None, _skipped(data, at, length)
    if kind == _STRUCTURE:
        return _structure(data, at, depth + 1)
    raise ValueError(f"a field of kind {kind}, which no page header has")


def _skipped(data: bytes, at: int, length: int) -> int:
    if at + length > len(data):
        raise ValueError("longer than a page header")
    return at + length


def _signed(data: bytes, at: int) -> tuple[int, int]:
    value, at = _unsigned(data, at)
    return (value >> 1) ^ -(value & 1), at


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
    return value | data[at] << shift, at + 1
