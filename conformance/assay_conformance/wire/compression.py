"""The codecs of a payload, each in the one shape Pulsar uses.

    LZ4     one block, without the length prefix many libraries put in front
    ZLIB    a zlib stream (RFC 1950), which need not end: Java flushes and stops (apache/pulsar#2854)
    ZSTD    a zstd frame (RFC 8878)
    SNAPPY  the raw format, without the framing of streams

The uncompressed size stands in the metadata and is believed only so far: output goes into a buffer of that size, which
is refused above the caller's limit, and must fill it exactly. So is the window that a ZSTD frame asks for: its decoder
reserves it whole, however little comes out.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from enum import IntEnum

import cramjam

from assay_conformance.wire.errors import CompressionError
from assay_conformance.wire.zstd_frame import reserved_bytes


class Codec(IntEnum):
    """MessageMetadata.compression."""

    NONE = 0
    LZ4 = 1
    ZLIB = 2
    ZSTD = 3
    SNAPPY = 4


def compress(codec: Codec, data: bytes | memoryview) -> bytes:
    return _COMPRESS[codec](data)


def decompress(codec: Codec, data: bytes | memoryview, uncompressed_size: int, limit: int) -> bytes:
    """Return the `uncompressed_size` bytes that were compressed; with NONE return `data`, whatever the size says.

    Raises CompressionError for a size or a ZSTD window above `limit`, before anything is allocated, for corrupt data,
    and for data that is not of that size.
    """
    if codec is Codec.NONE:
        return bytes(data)
    if uncompressed_size > limit:
        raise CompressionError(f"{codec.name}: expected at most {limit} bytes, the metadata says {uncompressed_size}")
    if codec is Codec.ZSTD and (window := reserved_bytes(data)) > limit:
        raise CompressionError(f"ZSTD: expected a window of at most {limit} bytes, the frame asks for {window}")
    try:
        return _DECOMPRESS[codec](data, uncompressed_size)
    except (cramjam.DecompressionError, zlib.error) as error:
        raise CompressionError(
            f"{codec.name}: {len(data)} bytes cannot be decompressed to {uncompressed_size}: {error}"
        ) from error


def unpacked_size(codec: Codec, data: bytes | memoryview, limit: int) -> int:
    """Return how many bytes the data unpacks to, whatever its metadata says.

    Raises CompressionError where that is more than `limit`, and for data that is not of this codec.
    """
    output = bytearray(limit)
    try:
        size = _UNPACK[codec](data, output)
    except (cramjam.DecompressionError, zlib.error, IndexError) as error:
        raise CompressionError(f"{codec.name}: {len(data)} bytes cannot be decompressed: {error}") from error
    decompress(codec, data, size, limit)
    return size


def _unpack_zlib(data: bytes | memoryview, output: bytearray) -> int:
    return len(zlib.decompressobj().decompress(data, len(output)))


_MOST_OF_LZ4 = 255
"""Bytes that one byte of an LZ4 block stands for, at most."""


def _lz4(data: bytes | memoryview, size: int) -> bytes:
    if size > _MOST_OF_LZ4 * len(data):
        # The library would make a buffer of this size, twice, and fill it with zeros.
        raise _wrong_size(Codec.LZ4, size, "fewer")
    # The library decodes raw blocks into a buffer of at most this size, and pads what is shorter with zeros. That the
    # output is exactly this long shows in its not fitting one byte less. Its other function, which does tell the
    # length, also takes blocks with a length prefix, which no Pulsar peer can read.
    output = bytes(cramjam.lz4.decompress_block(data, output_len=size))
    if size:
        try:
            cramjam.lz4.decompress_block(data, output_len=size - 1)
        except cramjam.DecompressionError:
            return output
        raise _wrong_size(Codec.LZ4, size, "fewer")
    return output


def _zlib(data: bytes | memoryview, size: int) -> bytes:
    stream = zlib.decompressobj()
    # A max_length of 0 means no limit, and one byte more tells a stream that is too long from one that ends here. No
    # reader asks for the end of the stream, and Java's CompressionCodecZLib writes none.
    output = stream.decompress(data, size + 1)
    if len(output) != size:
        raise _wrong_size(Codec.ZLIB, size, f"{len(output)} or more")
    if stream.unused_data:
        raise CompressionError(f"ZLIB: {len(stream.unused_data)} bytes after the end of the stream")
    return output


def _zstd(data: bytes | memoryview, size: int) -> bytes:
    output = bytearray(size)
    return _filled(Codec.ZSTD, output, cramjam.zstd.decompress_into(data, output))


def _snappy(data: bytes | memoryview, size: int) -> bytes:
    output = bytearray(size)
    return _filled(Codec.SNAPPY, output, cramjam.snappy.decompress_raw_into(data, output))


def _filled(codec: Codec, output: bytearray, count: int) -> bytes:
    if count != len(output):
        raise _wrong_size(codec, len(output), str(count))
    return bytes(output)


def _wrong_size(codec: Codec, size: int, came: str) -> CompressionError:
    return CompressionError(f"{codec.name}: expected {size} uncompressed bytes, got {came}")


_COMPRESS: dict[Codec, Callable[[bytes | memoryview], bytes]] = {
    Codec.NONE: bytes,
    Codec.LZ4: lambda data: bytes(cramjam.lz4.compress_block(data, store_size=False)),
    Codec.ZLIB: zlib.compress,
    Codec.ZSTD: lambda data: bytes(cramjam.zstd.compress(data)),
    Codec.SNAPPY: lambda data: bytes(cramjam.snappy.compress_raw(data)),
}
_UNPACK: dict[Codec, Callable[[bytes | memoryview, bytearray], int]] = {
    Codec.NONE: lambda data, _: len(data),
    Codec.LZ4: cramjam.lz4.decompress_block_into,
    Codec.ZLIB: _unpack_zlib,
    Codec.ZSTD: cramjam.zstd.decompress_into,
    Codec.SNAPPY: cramjam.snappy.decompress_raw_into,
}
_DECOMPRESS: dict[Codec, Callable[[bytes | memoryview, int], bytes]] = {
    Codec.LZ4: _lz4,
    Codec.ZLIB: _zlib,
    Codec.ZSTD: _zstd,
    Codec.SNAPPY: _snappy,
}
