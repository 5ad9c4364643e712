"""How much memory a ZSTD frame (RFC 8878) makes its decoder reserve, read from its headers before it is decoded.

    magic | descriptor | [window] | [dictionary id] | [content size] | blocks, the last one marked | [checksum]

The window is the sender's choice and has nothing to do with how much it sends: ten bytes may ask for 128 MiB. A frame
that states its content size makes do with that much. Frames may also stand in a row, each with a window of its own; a
payload is a single one.
"""

from __future__ import annotations

from typing import Final

from assay_conformance.wire.errors import CompressionError

_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_SINGLE_SEGMENT: Final = 0x20
_CHECKSUM: Final = 0x04
_DICTIONARY_ID_BYTES: Final = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES: Final = (0, 2, 4, 8)
_RUN: Final = 1
"""The block type whose size counts what comes out; one byte of it is stored."""


def reserved_bytes(data: bytes | memoryview) -> int:
    """Return the smaller of window and content size, as far as the frame states them.

    Raises CompressionError for data that is not exactly one frame. What is inside the blocks is not looked at.
    """
    if len(data) < 6 or data[:4] != _MAGIC:
        raise CompressionError(f"ZSTD: expected a frame, got {len(data)} bytes that begin with {data[:4].hex()!r}")
    descriptor = data[4]
    single = bool(descriptor & _SINGLE_SEGMENT)
    start = 5 if single else 6
    start += _DICTIONARY_ID_BYTES[descriptor & 3]
    width = _CONTENT_SIZE_BYTES[descriptor >> 6] or int(single)
    sizes = [] if single else [(8 + data[5] % 8) << (7 + data[5] // 8)]
    if width:
        # Two bytes count from 256 on, for less fits into one.
        sizes.append(int.from_bytes(data[start : start + width], "little") + (256 if width == 2 else 0))
    end = _end_of_blocks(data, start + width) + (4 if descriptor & _CHECKSUM else 0)
    if end != len(data):
        raise CompressionError(f"ZSTD: the frame ends at {end}, the data at {len(data)}")
    return min(sizes)


def _end_of_blocks(data: bytes | memoryview, start: int) -> int:
    last = 0
    while not last and start < len(data):
        head = int.from_bytes(data[start : start + 3], "little")
        last = head & 1
        start += 3 + (1 if head >> 1 & 3 == _RUN else head >> 3)
    return start
