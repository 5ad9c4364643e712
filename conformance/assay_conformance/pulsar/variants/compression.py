"""Clients that compress in other ways."""

from __future__ import annotations

import zlib
from typing import Any

import cramjam

from assay_conformance.client.ops import OpBuilder
from assay_conformance.wire import Codec


class ZlibWithoutEnd(OpBuilder):
    """A ZLIB stream is flushed, and its end is never written."""

    as_in = "Java client, CompressionCodecZLib; apache/pulsar#2854 made the C++ client read it"
    within = ("compression.interoperable-format",)

    def _encoded(self, data: bytes) -> bytes:
        if self._codec is not Codec.ZLIB:
            return super()._encoded(data)
        stream = zlib.compressobj()
        return stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)


class ZstdWithoutContentSize(OpBuilder):
    """A ZSTD frame is written as a stream, so that its header lacks the size of the content."""

    as_in = "pulsar-rs, producer.rs: zstd::encode_all"
    within = ("compression.interoperable-format",)

    def _encoded(self, data: bytes) -> bytes:
        if self._codec is not Codec.ZSTD:
            return super()._encoded(data)
        stream = cramjam.zstd.Compressor()
        stream.compress(data)
        return bytes(stream.finish())


class Lz4OfLiterals(OpBuilder):
    """An LZ4 block consists only of literals: one sequence without a match."""

    as_in = "Go client, internal/compression/lz4.go, for what does not shrink"
    within = ("compression.interoperable-format",)

    def _encoded(self, data: bytes) -> bytes:
        return _literals(data) if self._codec is Codec.LZ4 else super()._encoded(data)


_IN_TOKEN = 15
"""The greatest number of literals in an LZ4 token itself; from then on, further bytes follow it."""


def _literals(data: bytes) -> bytes:
    if len(data) < _IN_TOKEN:
        return bytes([len(data) << 4]) + data
    more, rest = divmod(len(data) - _IN_TOKEN, 255)
    return bytes([_IN_TOKEN << 4]) + b"\xff" * more + bytes([rest]) + data


class CompressesLargeBodiesOnly(OpBuilder):
    """Bodies of fewer than 4 KiB are not compressed."""

    as_in = "Java client, compressMinMsgBodySize (since 4.0.7), which applications seldom set"
    within = ("compression.interoperable-format", "batching.compressed-as-one", "chunking.splits-large-message")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._least_compressed = 4 * 1024
