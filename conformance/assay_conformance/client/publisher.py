"""A producer as the application sees it: one producer, or one for each partition and a router before them.

A message with a key goes to hash(key) mod partitions under every routing mode; the others all to one partition, or in
turn, from a start chosen at random. In turn means message by message, or, where they are batched, window by window, so
that a batch can fill: the windows of the Java client's RoundRobinPartitionMessageRouterImpl.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from assay_conformance.client.all_of import AllOf
from assay_conformance.client.growth import Growth
from assay_conformance.client.hooks import NO_HOOKS, Hooks
from assay_conformance.client.lookup import Lookup, Pool, parts_of
from assay_conformance.client.mutations import Mutation
from assay_conformance.client.producer import Producer
from assay_conformance.client.settings import HashingScheme, ProducerSettings, Routing
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.values import Done, Failed, Outgoing, Result
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import java_string_hash, murmur3_32, murmur3_32_raw, sign_safe_mod

_LOOK_AGAIN_NS = 10 * MS

_HASHES: dict[HashingScheme, Callable[[str], int]] = {
    HashingScheme.JAVA_STRING: java_string_hash,
    HashingScheme.MURMUR3_32: lambda key: murmur3_32(key.encode()),
}

_FIXED_STARTS = {
    Routing.SINGLE: Mutation.SINGLE_IS_THE_FIRST,
    Routing.ROUND_ROBIN: Mutation.TURNS_START_AT_THE_FIRST,
}


class Publisher:
    """`partitions` 0: the topic has none. `opened` is called once, when all producers have opened or one has failed.

    When the topic gets more partitions, keys are spread over all of them as soon as their producers have opened.
    """

    def __init__(
        self,
        shared: Shared,
        pool: Pool,
        lookup: Lookup,
        topic: str,
        settings: ProducerSettings,
        partitions: int,
        opened: Callable[[Result], None],
        hooks: Hooks = NO_HOOKS,
    ) -> None:
        self._shared = shared
        self._hooks = hooks
        self._partitioned = partitions > 0
        self._pool = pool
        self._lookup = lookup
        self._topic = topic
        self._settings = settings
        self._each = _of_each(settings, partitions, shared)
        self._producers = self._new(range(partitions), opened)
        self._at_first = len(self._producers)
        fixed = shared.mutated(_FIXED_STARTS[settings.routing])
        self._start = 0 if fixed else int(shared.jitter() * len(self._producers))
        self._turns = 0
        self._closed = False
        self._growth = Growth(shared, lookup, topic, settings.partitions_update_ms, partitions, self._widen)

    def start(self) -> None:
        for producer in self._producers:
            producer.start()

    def send(self, op: int, message: Outgoing, *, sync: bool = False) -> None:
        held = self._shared.mutated(Mutation.SICK_PARTITION_HOLDS_SENDS)
        if held and not all(producer.ready for producer in self._producers):
            self._shared.after(_LOOK_AGAIN_NS, lambda: self.send(op, message, sync=sync))
            return
        op = self._acknowledging(op, message)
        late = self._shared.mutated(Mutation.INTERCEPTS_BEHIND_ROUTER)
        if not late:
            message = self._intercepted(message)
        producer = self._route(message)
        if late:
            message = self._intercepted(message)
        if isinstance(producer, Failed):
            self._shared.completed(op, producer)
        else:
            producer.send(op, message, sync=sync)

    def flush(self, flushed: Callable[[Result], None]) -> None:
        together = AllOf(len(self._producers), flushed)
        for producer in self._producers:
            producer.flush(together.one)

    def close(self, closed: Callable[[Result], None]) -> None:
        self._closed = True
        self._growth.stop()
        together = AllOf(len(self._producers), closed)
        for producer in self._producers:
            producer.close(together.one)

    @property
    def last_sequence_id(self) -> int:
        return max(producer.last_sequence_id for producer in self._producers)

    def _new(self, partitions: range, opened: Callable[[Result], None]) -> list[Producer]:
        parts = parts_of(self._topic, partitions)
        together = AllOf(len(parts), opened)
        return [
            Producer(self._shared, self._pool, self._lookup, name, self._each, together.one, partition)
            for name, partition in parts
        ]

    def _widen(self, partitions: range, told: Callable[[bool], None]) -> None:
        def opened(result: Result) -> None:
            wanted = isinstance(result, Done) and not self._closed
            if wanted:
                self._producers.extend(added)
            else:
                for producer in added:
                    producer.close(_ignore)
            told(wanted)

        added = self._new(partitions, opened)
        for producer in added:
            producer.start()

    def _intercepted(self, message: Outgoing) -> Outgoing:
        interceptor = self._hooks.interceptor
        return message if interceptor is None else interceptor.before_send(message)

    def _acknowledging(self, op: int, message: Outgoing) -> int:
        """The operation to send under, so that an interceptor hears of its end before the application does."""
        interceptor = self._hooks.interceptor
        if interceptor is None:
            return op

        def ended(result: Result) -> None:
            tells: list[Callable[[], None]] = [
                lambda: interceptor.acknowledged(message, result),
                lambda: self._shared.completed(op, result),
            ]
            if self._shared.mutated(Mutation.INTERCEPTOR_HEARS_LAST):
                tells.reverse()
            for tell in tells:
                tell()

        return self._shared.private_op(ended)

    def _route(self, message: Outgoing) -> Producer | Failed:
        router, count = self._hooks.router, self._spread_over(message)
        if router is None or not self._partitioned:
            return self._with_room(message, self._producers[sign_safe_mod(self._choice(message), count)])
        answer = router(message, count)
        if self._shared.mutated(Mutation.ASKS_ROUTER_TWICE):
            answer = router(message, count)
        if self._shared.mutated(Mutation.OUT_OF_RANGE_WRAPS):
            answer %= count
        if not 0 <= answer < count:
            text = f"the router answered partition {answer}, and there are {count}"
            return Failed(ErrorClass.INVALID_CONFIG, text, certain=True)
        return self._producers[answer]

    def _spread_over(self, message: Outgoing) -> int:
        """The first so many partitions are chosen among: all, but for a mutation."""
        old = self._shared.mutated(Mutation.ADDED_PARTITIONS_UNUSED)
        old |= message.key is not None and self._shared.mutated(Mutation.KEYS_KEEP_OLD_NUMBER)
        return self._at_first if old else len(self._producers)

    def _with_room(self, message: Outgoing, chosen: Producer) -> Producer:
        """Only for a mutation: another one where this is full."""
        while message.key is None and chosen.is_full and self._shared.mutated(Mutation.STEERS_AROUND_FULL):
            if all(producer.is_full for producer in self._producers):
                break
            chosen = self._producers[sign_safe_mod(self._choice(message), len(self._producers))]
        return chosen

    def _choice(self, message: Outgoing) -> int:
        """A number whose remainder is the partition."""
        single = self._settings.routing is Routing.SINGLE
        if message.key is not None and not (single and self._shared.mutated(Mutation.SINGLE_IGNORES_KEYS)):
            return self._hash(message.key)
        if single and not self._shared.mutated(Mutation.SINGLE_TAKES_TURNS):
            return self._start
        delays = self._settings.batching_partition_switch_frequency
        if delays > 1 and self._shared.mutated(Mutation.WINDOW_OF_ONE_DELAY):
            delays = 1
        elif self._shared.mutated(Mutation.WINDOW_OVERSTAYS):
            delays += 2
        window_ms = delays * self._settings.batching_max_publish_delay_ms
        if self._settings.batching and self._shared.mutated(Mutation.WINDOW_NEVER_ENDS):
            return self._start
        of_one = self._settings.batching_partition_switch_frequency == 1
        if of_one and self._settings.batching and self._shared.mutated(Mutation.WINDOW_OF_ONE_NEVER_ENDS):
            return self._start
        if self._settings.batching and window_ms and not self._shared.mutated(Mutation.BATCHED_TURNS_BY_MESSAGE):
            return self._start + self._shared.now_ns // (window_ms * MS)
        self._turns += 1
        turns = self._turns // 2 if self._shared.mutated(Mutation.TURNS_LAST_TWO_MESSAGES) else self._turns
        return self._start + turns - 1

    def _hash(self, key: str) -> int:
        other = self._shared.mutated(Mutation.DEFAULT_HASH_IS_MURMUR3)
        default = HashingScheme.MURMUR3_32 if other else HashingScheme.JAVA_STRING
        scheme = self._settings.hashing_scheme or default
        if scheme is HashingScheme.MURMUR3_32 and self._shared.mutated(Mutation.MURMUR3_KEEPS_SIGN):
            return murmur3_32_raw(key.encode())
        if scheme is HashingScheme.JAVA_STRING and self._shared.mutated(Mutation.JAVA_HASH_OF_BYTES):
            return _java_hash_of_bytes(key.encode())
        return _HASHES[scheme](key)


def _of_each(settings: ProducerSettings, partitions: int, shared: Shared) -> ProducerSettings:
    """The settings of the producer of one partition: its share of the limit across partitions, one message at least."""
    across = settings.max_pending_across_partitions
    if not partitions or not across or shared.mutated(Mutation.IGNORES_ACROSS_PARTITIONS):
        return settings
    share = across if shared.mutated(Mutation.ACROSS_PARTITIONS_UNDIVIDED) else max(1, across // partitions)
    limit = min(share, settings.max_pending_messages or share)
    return msgspec.structs.replace(settings, max_pending_messages=limit)


def _ignore(result: Result) -> None:
    del result


def _java_hash_of_bytes(data: bytes) -> int:
    """Only for a mutation."""
    value = 0
    for byte in data:
        value = (31 * value + byte) & 0xFFFFFFFF
    return value
