"""The four codecs: what is promised is what comes out, exactly, and never more than the limit."""

from __future__ import annotations

import tracemalloc

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_conformance.wire import Codec, CompressionError, compress, decompress

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


@every_codec
@pytest.mark.parametrize("missing", [1, 2, 5])
def test_cut_data_is_refused(codec: Codec, missing: int) -> None:
    with pytest.raises(CompressionError):
        decompress(codec, compress(codec, TEXT)[:-missing], len(TEXT), limit=1000)


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


def test_length_prefixed_lz4_is_refused() -> None:
    prefixed = bytes(cramjam.lz4.compress_block(TEXT, store_size=True))
    with pytest.raises(CompressionError):
        decompress(Codec.LZ4, prefixed, len(TEXT), limit=1000)


def test_framed_snappy_is_refused() -> None:
    with pytest.raises(CompressionError):
        decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress(TEXT)), len(TEXT), limit=1000)


def test_uncompressed_size_means_nothing_without_codec() -> None:
    assert decompress(Codec.NONE, TEXT, 3, limit=1) == TEXT
