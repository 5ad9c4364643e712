"""compression.decompression-error-reported"""

from __future__ import annotations

from assay_conformance.checks.discarding import Discarding
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.compression._compressed import is_too_large, metadata_if_compressed
from assay_conformance.wire.describe import MAX_MESSAGE_BYTES


class DecompressionErrorReported(Discarding):
    """An unchunked MESSAGE with a valid checksum whose body cannot be decompressed, or not to the announced size, or
    that is larger than the broker accepts.
    """

    requirement = RequirementId("compression.decompression-error-reported")
    needs = (Trait.COMPRESSED,)
    state = "garbled"
    how = "with a body that cannot be decompressed"

    def reason(self, event: Frame) -> str | None:
        meta = metadata_if_compressed(event)
        if meta is None or not event.intact or meta.chunk_id is not None:
            return None
        if meta.uncompressed_size > MAX_MESSAGE_BYTES:
            return None  # It has two reasons to be rejected: judged by `compression.absurd-size-not-trusted`.
        if is_too_large(self.view, event):
            return "UncompressedSizeCorruption"
        return "DecompressionError" if meta.unpacked_bytes is not None else None
