"""Clients that compress otherwise."""

from __future__ import annotations

import zlib

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
