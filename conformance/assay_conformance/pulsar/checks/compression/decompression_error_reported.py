from __future__ import annotations

from functools import partial

from assay_conformance.checks.base import View
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks._discarding import Discarding, judge_discarded
from assay_conformance.pulsar.checks.compression._compressed import is_too_large, metadata_if_compressed
from assay_conformance.pulsar.timeline import Says, Timeline, check
from assay_conformance.wire.describe import MAX_MESSAGE_BYTES


@check("compression.decompression-error-reported")
def decompression_error_reported(timeline: Timeline) -> Says:
    """compression.decompression-error-reported: an unchunked MESSAGE with a valid checksum whose body cannot be
    decompressed, or not to the announced size, or that is larger than the broker accepts, is discarded and reported by
    an ACK with DecompressionError or UncompressedSizeCorruption; its permit is returned, and the connection stays open.
    A client may read a format of its own that it wrote itself: that is judged by `compression.interoperable-format`."""
    own = frozenset(send.unit for send in timeline.events.frames("SEND") if send.from_sender and send.unit is not None)
    error_of = partial(_error_of, own, timeline.view)
    yield from judge_discarded(timeline, Discarding("garbled", "with a body that cannot be decompressed", error_of))


def _error_of(own: frozenset[int], view: View, frame: Frame) -> str | None:
    """Return the error for a frame that cannot be decompressed.

    One with an absurd size has two reasons to be rejected: judged by `compression.absurd-size-not-trusted`.
    """
    meta = metadata_if_compressed(frame)
    if meta is None or not frame.intact or meta.chunk_id is not None or meta.uncompressed_size > MAX_MESSAGE_BYTES:
        return None
    if meta.is_unread and frame.intact and frame.unit in own:
        return None
    if is_too_large(view, frame):
        return "UncompressedSizeCorruption"
    return "DecompressionError" if meta.unpacked_bytes is not None else None
