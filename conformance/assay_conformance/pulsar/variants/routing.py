"""Clients that choose partitions in other ways."""

from __future__ import annotations

from assay_conformance.client.publisher import Publisher
from assay_conformance.client.values import Outgoing


class OrderingKeyChooses(Publisher):
    """A message with an ordering key, and without a key, goes to the partition of its hash."""

    as_in = "Go client, default_router.go: with an OrderingKey, the hash of that key"
    within = (
        "routing.round-robin-cycle",
        "routing.round-robin-batching-window",
        "routing.single-partition-stays",
        "topics.uses-added-partitions",
    )

    def _choice(self, message: Outgoing) -> int:
        if message.key is None and message.ordering_key is not None:
            return self._hash(message.ordering_key)
        return super()._choice(message)
