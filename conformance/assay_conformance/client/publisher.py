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
from assay_conformance.client.hooks import NO_HOOKS, Hooks, Interceptor, Router
from assay_conformance.client.lookup import Lookup, Pool, parts_of
from assay_conformance.client.producer import Producer
from assay_conformance.client.settings import AccessMode, HashingScheme, ProducerSettings, Routing
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.values import Done, Failed, Outgoing, Result
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import java_string_hash, murmur3_32, sign_safe_mod

_HASHES: dict[HashingScheme, Callable[[str], int]] = {
    HashingScheme.JAVA_STRING: java_string_hash,
    HashingScheme.MURMUR3_32: lambda key: murmur3_32(key.encode()),
}


class Publisher:
    """`partitions` 0: the topic has none. `opened` is called once, when all producers have opened or one has failed.

    When the topic gets more partitions, keys are spread over all of them as soon as their producers have opened.

    With a lazy start one producer opens at first, which shows whether the topic can be written to at all; another one
    when a message is to go to its partition. If that fails the message does, too, and the next one tries again
    (PartitionedProducerImpl of the Java client).
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
        self._each = self._settings_of_each(partitions)
        self._is_lazy = self._starts_lazily(partitions)
        self._unstarted: set[Producer] = set()
        self._opened = opened
        self._producers = self._new(range(partitions), opened)
        self._start = self._first()
        self._turns = 0
        self._closed = False
        self._growth = shared.implementation(Growth)(
            shared, lookup, topic, settings.partitions_update_ms, partitions, self._widen
        )

    def start(self) -> None:
        for producer in self._to_start_at_first():
            self._unstarted.discard(producer)
            producer.start()

    def _starts_lazily(self, partitions: int) -> bool:
        """Return whether partitions open only when used; exclusive access has to hold in all of them at once."""
        shared = self._settings.access_mode is AccessMode.SHARED
        return self._settings.lazy_start_partitioned_producers and partitions > 0 and shared

    def _to_start_at_first(self) -> list[Producer]:
        return [self._producers[self._start % len(self._producers)]] if self._is_lazy else self._producers

    def send(self, op: int, message: Outgoing, *, sync: bool = False) -> None:
        op = self._acknowledging(op, message)
        message, producer = self._intercept_and_route(message)
        if isinstance(producer, Failed):
            self._shared.completed(op, producer)
        else:
            self._start_at_use(producer)
            producer.send(op, message, sync=sync)

    def _start_at_use(self, producer: Producer) -> None:
        if producer in self._unstarted and not self._closed:
            self._unstarted.remove(producer)
            producer.start()

    @property
    def _started(self) -> list[Producer]:
        return [producer for producer in self._producers if producer not in self._unstarted]

    def flush(self, flushed: Callable[[Result], None]) -> None:
        started = self._started
        together = AllOf.any_number(len(started), flushed)
        for producer in started:
            producer.flush(together.one)

    def close(self, closed: Callable[[Result], None]) -> None:
        self._closed = True
        self._growth.stop()
        started = self._started
        together = AllOf.any_number(len(started), closed)
        for producer in started:
            producer.close(together.one)

    @property
    def last_sequence_id(self) -> int:
        return max((producer.last_sequence_id for producer in self._started), default=-1)

    def _intercept_and_route(self, message: Outgoing) -> tuple[Outgoing, Producer | Failed]:
        message = self._intercepted(message)
        return message, self._route(message)

    def _settings_of_each(self, partitions: int) -> ProducerSettings:
        """Return the settings of one partition's producer: its share of the limit across all, one message at least."""
        across = self._settings.max_pending_across_partitions
        if not partitions or not across:
            return self._settings
        share = self._share(across, partitions)
        limit = min(share, self._settings.max_pending_messages or share)
        return msgspec.structs.replace(self._settings, max_pending_messages=limit)

    def _share(self, across: int, partitions: int) -> int:
        return max(1, across // partitions)

    def _first(self) -> int:
        """Return the partition to begin with, or to stay with."""
        return int(self._shared.jitter() * len(self._producers))

    def _new(self, partitions: range, opened: Callable[[Result], None]) -> list[Producer]:
        parts = parts_of(self._topic, partitions)
        if self._is_lazy:
            return [self._new_lazy(name, partition) for name, partition in parts]
        together, made = AllOf(len(parts), opened), self._shared.implementation(Producer)
        return [
            made(self._shared, self._pool, self._lookup, name, self._each, together.one, partition)
            for name, partition in parts
        ]

    def _new_lazy(self, name: str, partition: int) -> Producer:
        """Return a producer that opens later, when it is first used."""

        def ended(result: Result) -> None:
            opened, self._opened = self._opened, _ignore
            opened(result)
            if isinstance(result, Failed) and not self._closed:
                self._producers[partition] = self._new_lazy(name, partition)

        made = self._shared.implementation(Producer)
        producer = made(self._shared, self._pool, self._lookup, name, self._each, ended, partition)
        self._unstarted.add(producer)
        return producer

    def _widen(self, partitions: range, on_done: Callable[[bool], None]) -> None:
        def opened(result: Result) -> None:
            wanted = isinstance(result, Done) and not self._closed
            if wanted:
                self._producers.extend(added)
            else:
                for producer in added:
                    producer.close(_ignore)
            on_done(wanted)

        added = self._new(partitions, opened)
        if self._is_lazy:
            opened(Done())
            return
        for producer in added:
            producer.start()

    def _intercepted(self, message: Outgoing) -> Outgoing:
        interceptor = self._hooks.interceptor
        return message if interceptor is None else interceptor.before_send(message)

    def _acknowledging(self, op: int, message: Outgoing) -> int:
        """Return the operation to send under, so that an interceptor is called at its end before the application is."""
        interceptor = self._hooks.interceptor
        if interceptor is None:
            return op

        return self._shared.private_op(lambda result: self._call_interceptor(interceptor, op, message, result))

    def _call_interceptor(self, interceptor: Interceptor, op: int, message: Outgoing, result: Result) -> None:
        interceptor.acknowledged(message, result)
        self._shared.completed(op, result)

    def _route(self, message: Outgoing) -> Producer | Failed:
        router, count = self._hooks.router, self._spread_over(message)
        if router is None or not self._partitioned:
            return self._chosen(message, count)
        answer = self._ask(router, message, count)
        if not 0 <= answer < count:
            text = f"the router answered partition {answer}, and there are {count}"
            return Failed(ErrorClass.INVALID_CONFIG, text, certain=True)
        return self._producers[answer]

    def _ask(self, router: Router, message: Outgoing, count: int) -> int:
        return router(message, count)

    def _spread_over(self, message: Outgoing) -> int:
        """Return how many partitions, counted from the first, are chosen among: all."""
        del message
        return len(self._producers)

    def _chosen(self, message: Outgoing, count: int) -> Producer:
        return self._producers[sign_safe_mod(self._choice(message), count)]

    def _choice(self, message: Outgoing) -> int:
        """Return a number whose remainder is the partition."""
        if message.key is not None:
            return self._hash(message.key)
        return self._start if self._stays else self._turn()

    @property
    def _stays(self) -> bool:
        return self._settings.routing is Routing.SINGLE

    def _turn(self) -> int:
        window_ms = self._window_delays() * self._settings.batching_max_publish_delay_ms
        if self._settings.batching and window_ms:
            return self._turn_of_window(window_ms)
        return self._turn_of_message()

    def _window_delays(self) -> int:
        return self._settings.batching_partition_switch_frequency

    def _turn_of_window(self, window_ms: int) -> int:
        return self._start + self._shared.now_ns // (window_ms * MS)

    def _turn_of_message(self) -> int:
        self._turns += 1
        return self._start + self._turns - 1

    def _scheme(self) -> HashingScheme:
        return self._settings.hashing_scheme or HashingScheme.JAVA_STRING

    def _hash(self, key: str) -> int:
        return _HASHES[self._scheme()](key)


def _ignore(result: Result) -> None:
    del result
