"""The four codecs: what is promised is what comes out, exactly, and never more than the limit."""

from __future__ import annotations

import tracemalloc
import zlib

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_conformance.wire import Codec, CompressionError, compress, decompress
from assay_conformance.wire.zstd_frame import reserved_bytes

REAL = [Codec.LZ4, Codec.ZLIB, Codec.ZSTD, Codec.SNAPPY]
TEXT = b"the same words, the same words, the same words"
every_codec = pytest.mark.parametrize("codec", REAL)


@given(st.sampled_from(list(Codec)), st.binary(max_size=2000) | st.binary(max_size=20).map(lambda part: part * 200))
def test_decompress_undoes_compress(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data), len(data), limit=len(data)) == data


@every_codec
@pytest.mark.parametrize("size", [0, 1, len(TEXT) - 1, len(TEXT) + 1, 1000])
def test_wrong_uncompressed_size_is_refused(codec: Codec, size: int) -> None:
    with pytest.raises(CompressionError):
        decompress(codec, compress(codec, TEXT), size, limit=1000)


@every_codec
def test_empty_data_of_another_size_is_refused(codec: Codec) -> None:
    with pytest.raises(CompressionError):
        decompress(codec, compress(codec, b""), 1, limit=10)


ZLIB_END_BYTES = 4 + 2
"""The checksum after the last block, and the end of that block."""


@every_codec
@pytest.mark.parametrize("missing", [1, 2, 5])
def test_cut_data_is_refused(codec: Codec, missing: int) -> None:
    missing += ZLIB_END_BYTES if codec is Codec.ZLIB else 0
    with pytest.raises(CompressionError):
        decompress(codec, compress(codec, TEXT)[:-missing], len(TEXT), limit=1000)


@pytest.mark.parametrize("flush", [zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH])
@pytest.mark.parametrize("data", [b"", TEXT, TEXT * 1_000])
def test_zlib_stream_that_is_flushed_and_has_no_end_is_read(data: bytes, flush: int) -> None:
    stream = zlib.compressobj()
    flushed = stream.compress(data) + stream.flush(flush)
    assert decompress(Codec.ZLIB, flushed, len(data), limit=len(data)) == data


@pytest.mark.parametrize("size", [len(TEXT) - 1, len(TEXT) + 1])
def test_zlib_stream_without_end_and_of_another_size_is_refused(size: int) -> None:
    stream = zlib.compressobj()
    flushed = stream.compress(TEXT) + stream.flush(zlib.Z_SYNC_FLUSH)
    with pytest.raises(CompressionError):
        decompress(Codec.ZLIB, flushed, size, limit=1000)


@every_codec
@pytest.mark.parametrize("data", [b"", b"\xff" * 40], ids=["nothing", "garbage"])
def test_garbage_is_refused(codec: Codec, data: bytes) -> None:
    with pytest.raises(CompressionError):
        decompress(codec, data, 10, limit=1000)


@every_codec
def test_bytes_behind_the_data_are_refused(codec: Codec) -> None:
    with pytest.raises(CompressionError):
        decompress(codec, compress(codec, TEXT) + b"more", len(TEXT), limit=1000)


@every_codec
def test_size_above_limit_allocates_nothing(codec: Codec) -> None:
    data = compress(codec, TEXT)
    tracemalloc.start()
    try:
        with pytest.raises(CompressionError, match="at most 5242880"):
            decompress(codec, data, 2**32 - 1, limit=5 * 1024 * 1024)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@every_codec
def test_bomb_is_cut_at_its_promise(codec: Codec) -> None:
    bomb = compress(codec, bytes(20 * 1024 * 1024))
    tracemalloc.start()
    try:
        with pytest.raises(CompressionError):
            decompress(codec, bomb, 1000, limit=1000)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


# --- ZSTD: the sender chooses the window that its reader reserves ---

MIB = 1024 * 1024
LIMIT = 5 * MIB


def zstd_frame(window_log: int, data: bytes = b"ten bytes!", *, content_size: int | None = None) -> bytes:
    """One raw block; the content size is told if given."""
    told = b"" if content_size is None else content_size.to_bytes(8, "little")
    descriptor = 0xC0 if told else 0
    block = (len(data) << 3 | 1).to_bytes(3, "little") + data
    return b"\x28\xb5\x2f\xfd" + bytes((descriptor, (window_log - 10) << 3)) + told + block


@pytest.mark.parametrize("window_log", [23, 27, 41])
def test_window_above_limit_is_refused(window_log: int) -> None:
    with pytest.raises(CompressionError, match=f"at most {LIMIT} bytes, the frame asks for {2**window_log}"):
        decompress(Codec.ZSTD, zstd_frame(window_log), 10, LIMIT)


@pytest.mark.parametrize("window_log", [10, 21, 22])
def test_window_within_limit_is_taken(window_log: int) -> None:
    assert decompress(Codec.ZSTD, zstd_frame(window_log), 10, LIMIT) == b"ten bytes!"


def test_window_beyond_the_content_is_not_reserved() -> None:
    assert decompress(Codec.ZSTD, zstd_frame(27, content_size=10), 10, LIMIT) == b"ten bytes!"


def test_window_is_no_smaller_for_a_large_content_told() -> None:
    with pytest.raises(CompressionError, match=f"asks for {128 * MIB}"):
        decompress(Codec.ZSTD, zstd_frame(27, content_size=2**40), 10, LIMIT)


def test_content_is_the_window_of_a_single_segment() -> None:
    told = b"\x28\xb5\x2f\xfd" + b"\xa0" + (128 * MIB).to_bytes(4, "little") + b"\x51\0\0ten bytes!"
    with pytest.raises(CompressionError, match=f"asks for {128 * MIB}"):
        decompress(Codec.ZSTD, told, 10, LIMIT)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 65791, 65792, 200_000])
def test_content_size_told_is_what_is_reserved(size: int) -> None:
    assert reserved_bytes(compress(Codec.ZSTD, (bytes(range(256)) * 1000)[:size])) == size


def test_window_grows_in_eighths() -> None:
    data = bytearray(zstd_frame(21))
    data[5] |= 3
    assert reserved_bytes(bytes(data)) == 2 * MIB + 2 * MIB * 3 // 8


def test_block_of_one_byte_repeated_is_one_byte_long() -> None:
    head, run = zstd_frame(21)[:6], (MIB // 8 << 3 | 1 << 1 | 1).to_bytes(3, "little")
    assert decompress(Codec.ZSTD, head + run + b"x", MIB // 8, LIMIT) == b"x" * (MIB // 8)


def test_second_frame_with_a_window_of_its_own_is_refused() -> None:
    with pytest.raises(CompressionError, match="the frame ends at 19, the data at 28"):
        decompress(Codec.ZSTD, zstd_frame(20) + zstd_frame(27, b""), 10, LIMIT)


def test_frame_to_be_skipped_is_refused() -> None:
    with pytest.raises(CompressionError, match="expected a frame"):
        decompress(Codec.ZSTD, b"\x50\x2a\x4d\x18\0\0\0\0" + zstd_frame(27), 10, LIMIT)


# --- Forms that no Pulsar peer writes ---


def test_length_prefixed_lz4_is_refused() -> None:
    prefixed = bytes(cramjam.lz4.compress_block(TEXT, store_size=True))
    with pytest.raises(CompressionError):
        decompress(Codec.LZ4, prefixed, len(TEXT), limit=1000)


def test_lz4_is_given_no_more_room_than_it_can_fill() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(CompressionError, match="fewer"):
            decompress(Codec.LZ4, compress(Codec.LZ4, TEXT), LIMIT, LIMIT)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [1, 19, 1_000, LIMIT])
def test_lz4_of_one_byte_repeated_is_unpacked(size: int) -> None:
    assert decompress(Codec.LZ4, compress(Codec.LZ4, bytes(size)), size, LIMIT) == bytes(size)


def test_framed_snappy_is_refused() -> None:
    with pytest.raises(CompressionError):
        decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress(TEXT)), len(TEXT), limit=1000)


def test_uncompressed_size_means_nothing_without_codec() -> None:
    assert decompress(Codec.NONE, TEXT, 3, limit=1) == TEXT
