"""What mutations do to compression. The honest client has no part in this file."""

from __future__ import annotations

import cramjam

from assay_conformance.wire import CompressionError


def snappy_framed(data: bytes) -> bytes:
    """SNAPPY in the framing of streams, which is not the one block that Pulsar means."""
    return bytes(cramjam.snappy.compress(data))


def snappy_unframed(data: bytes | memoryview) -> bytes:
    """Raises CompressionError for anything else, the one block included."""
    try:
        return bytes(cramjam.snappy.decompress(data))
    except cramjam.DecompressionError as error:
        raise CompressionError(str(error)) from error
