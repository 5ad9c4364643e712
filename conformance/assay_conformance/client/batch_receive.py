"""Batch receive: when there is enough for one, and what it takes of the queue."""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.client.handed import Inbound
from assay_conformance.client.settings import ConsumerSettings


class BatchLimits:
    """Of one consumer; 0 is no limit. A queue that holds fewer messages than a batch may is the limit itself."""

    def __init__(self, settings: ConsumerSettings) -> None:
        self.timeout_ms = settings.batch_receive_timeout_ms
        self._most = min(settings.batch_receive_max_messages, settings.receiver_queue_size)
        self._most_bytes = settings.batch_receive_max_bytes

    def is_enough(self, queue: Sequence[Inbound]) -> bool:
        """Return whether a batch need not wait any longer."""
        if 0 < self._most <= len(queue):
            return True
        return 0 < self._most_bytes <= sum(len(inbound.opened.payload) for inbound in queue)

    def take(self, queue: Sequence[Inbound]) -> int:
        """Return how many of a queue, from its head, one batch gets. A message is never too large to be the first."""
        size = 0
        for count, inbound in enumerate(queue):
            size += len(inbound.opened.payload)
            if count and (self._has(count) or 0 < self._most_bytes < size):
                return count
        return len(queue)

    def _has(self, count: int) -> bool:
        """Return whether so many messages are all that a batch may have."""
        return 0 < self._most <= count
