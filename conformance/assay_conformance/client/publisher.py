"""A producer as the application sees it: one producer, or one for each partition and a router before them.

A message with a key goes to hash(key) mod partitions under every routing mode; the others all to one partition, or in
turn, from a start chosen at random.
"""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.client.all_of import AllOf
from assay_conformance.client.producer import Producer
from assay_conformance.client.settings import Routing
from assay_conformance.client.values import Outgoing, Result
from assay_conformance.wire import java_string_hash, sign_safe_mod


class Publisher:
    """`start` picks the partition of the first message without a key."""

    def __init__(self, producers: list[Producer], routing: Routing, start: int) -> None:
        self._producers = producers
        self._routing = routing
        self._next = start

    def send(self, op: int, message: Outgoing) -> None:
        self._route(message).send(op, message)

    def flush(self, flushed: Callable[[Result], None]) -> None:
        together = AllOf(len(self._producers), flushed)
        for producer in self._producers:
            producer.flush(together.one)

    def close(self, closed: Callable[[Result], None]) -> None:
        together = AllOf(len(self._producers), closed)
        for producer in self._producers:
            producer.close(together.one)

    @property
    def last_sequence_id(self) -> int:
        return max(producer.last_sequence_id for producer in self._producers)

    def _route(self, message: Outgoing) -> Producer:
        count = len(self._producers)
        if message.key is not None:
            return self._producers[sign_safe_mod(java_string_hash(message.key), count)]
        index = self._next % count
        if self._routing is Routing.ROUND_ROBIN:
            self._next += 1
        return self._producers[index]
