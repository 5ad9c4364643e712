"""Settings that exclude each other, or that no client can keep: refused before anything is opened."""

from __future__ import annotations

from assay_conformance.client.settings import MIN_ACK_TIMEOUT_MS, ConsumerSettings, ProducerSettings
from assay_conformance.client.values import Failed
from assay_conformance.model.event import ErrorClass

# Either would have to win silently: a chunked message is never part of a batch.
_BOTH = Failed(ErrorClass.INVALID_CONFIG, "batching and chunking cannot both be on", certain=True)

# A batch could not fill before its partition changes.
_NO_WINDOW = Failed(ErrorClass.INVALID_CONFIG, "batching_partition_switch_frequency must be at least 1", certain=True)

_TOO_SHORT = Failed(
    ErrorClass.INVALID_CONFIG, f"an acknowledgment time-out has {MIN_ACK_TIMEOUT_MS} ms at least", certain=True
)


class Validation:
    def producer(self, settings: ProducerSettings) -> Failed | None:
        """Return why no producer is opened with these settings; None where one is."""
        if self._batches_chunks(settings):
            return _BOTH
        return _NO_WINDOW if self._has_no_window(settings) else None

    def consumer(self, settings: ConsumerSettings) -> Failed | None:
        """Return why no consumer is opened with these settings; None where one is."""
        return _TOO_SHORT if self._times_out_too_soon(settings) else None

    def _batches_chunks(self, settings: ProducerSettings) -> bool:
        return settings.batching and settings.chunking

    def _has_no_window(self, settings: ProducerSettings) -> bool:
        return settings.batching_partition_switch_frequency < 1

    def _times_out_too_soon(self, settings: ConsumerSettings) -> bool:
        return 0 < settings.ack_timeout_ms < MIN_ACK_TIMEOUT_MS
