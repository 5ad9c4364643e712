"""Brokers that lose chunks."""

from __future__ import annotations

from assay_conformance.broker.publishing import Publish, Publishing
from assay_conformance.pulsar.mutants._unwritten import receipt_unwritten
from assay_conformance.wire import MetadataError


class LosesChunk(Publishing):
    """The second chunk of every chunked message gets its receipt and is not stored."""

    breaks = "chunking.survives-reconnect"
    stands_for = "a chunk dropped before it is stored, with its receipt already sent"

    _lost = 0

    def _write(self, publish: Publish) -> None:
        try:
            loses = publish.payload.metadata.chunk_id == 1 and not self._store.waits
        except MetadataError:
            loses = False
        if loses:
            self._lost += 1
            receipt_unwritten(self, publish, self._store, self._lost)
        else:
            super()._write(publish)
