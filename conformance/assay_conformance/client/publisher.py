"""A producer as the application sees it: one producer, or one for each partition and a router before them.

A message with a key goes to hash(key) mod partitions under every routing mode; the others all to one partition, or in
turn, from a start chosen at random. In turn means message by message, or, where they are batched, window by window, so
that a batch can fill: the windows of the Java client's RoundRobinPartitionMessageRouterImpl.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay_conformance.client.all_of import AllOf
from assay_conformance.client.mutations import Mutation
from assay_conformance.client.producer import Producer
from assay_conformance.client.settings import HashingScheme, ProducerSettings, Routing
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.values import Outgoing, Result
from assay_conformance.wire import java_string_hash, murmur3_32, murmur3_32_raw, sign_safe_mod

DELAYS_PER_WINDOW = 10
"""How many publish delays a window lasts: batchingPartitionSwitchFrequencyByPublishDelay."""

_HASHES: dict[HashingScheme, Callable[[str], int]] = {
    HashingScheme.JAVA_STRING: java_string_hash,
    HashingScheme.MURMUR3_32: lambda key: murmur3_32(key.encode()),
}


class Publisher:
    """`start` picks the partition of the first message without a key."""

    def __init__(self, shared: Shared, producers: Sequence[Producer], settings: ProducerSettings, start: int) -> None:
        self._shared = shared
        self._producers = list(producers)
        self._settings = settings
        self._start = start
        self._turns = 0

    @property
    def partitions(self) -> int:
        return len(self._producers)

    def grow(self, producers: Sequence[Producer]) -> None:
        """The topic has more partitions, and these are their producers: keys are spread over all of them from now."""
        self._producers.extend(producers)

    def send(self, op: int, message: Outgoing, *, sync: bool = False) -> None:
        self._route(message).send(op, message, sync=sync)

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
        return self._producers[sign_safe_mod(self._choice(message), len(self._producers))]

    def _choice(self, message: Outgoing) -> int:
        """A number whose remainder is the partition."""
        single = self._settings.routing is Routing.SINGLE
        if message.key is not None and not (single and self._shared.mutated(Mutation.SINGLE_IGNORES_KEYS)):
            return self._hash(message.key)
        if single and not self._shared.mutated(Mutation.SINGLE_TAKES_TURNS):
            return self._start
        if self._settings.batching:
            window_ms = DELAYS_PER_WINDOW * self._settings.batching_max_publish_delay_ms
            return self._start + self._shared.now_ns // (window_ms * MS)
        self._turns += 1
        turns = self._turns // 2 if self._shared.mutated(Mutation.TURNS_LAST_TWO_MESSAGES) else self._turns
        return self._start + turns - 1

    def _hash(self, key: str) -> int:
        scheme = self._settings.hashing_scheme
        if scheme is HashingScheme.MURMUR3_32 and self._shared.mutated(Mutation.MURMUR3_KEEPS_SIGN):
            return murmur3_32_raw(key.encode())
        if scheme is HashingScheme.JAVA_STRING and self._shared.mutated(Mutation.JAVA_HASH_OF_BYTES):
            return _java_hash_of_bytes(key.encode())
        return _HASHES[scheme](key)


def _java_hash_of_bytes(data: bytes) -> int:
    """Only for a mutation."""
    value = 0
    for byte in data:
        value = (31 * value + byte) & 0xFFFFFFFF
    return value
