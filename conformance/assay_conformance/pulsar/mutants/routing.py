"""Clients that send messages to the wrong partition."""

from __future__ import annotations

from dataclasses import replace

from assay_conformance.client.hooks import Router
from assay_conformance.client.producer import Producer
from assay_conformance.client.publisher import Publisher
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.settings import HashingScheme, ProducerSettings, Routing
from assay_conformance.client.shared import MS
from assay_conformance.client.validation import Validation
from assay_conformance.client.values import Outgoing
from assay_conformance.wire import murmur3_32_raw


class DefaultHashIsMurmur3(Publisher):
    """Keys are hashed by Murmur3 by default."""

    breaks = ("routing.declared-default-hash", "routing.default-hash")
    stands_for = "pulsar-rs and DotPulsar: a default of their own"

    def _scheme(self) -> HashingScheme:
        return self._settings.hashing_scheme or HashingScheme.MURMUR3_32


class SinglePartitionIgnoresKeys(Publisher):
    """Single-partition routing sends messages with keys to that partition as well."""

    breaks = "routing.key-chooses-partition"
    stands_for = "pulsar-rs: keys are used under one routing policy only"

    def _choice(self, message: Outgoing) -> int:
        single = self._settings.routing is Routing.SINGLE
        return super()._choice(replace(message, key=None) if single else message)


class JavaHashOfBytes(Publisher):
    """JavaStringHash is computed over bytes and keeps its sign bit."""

    breaks = "routing.java-string-hash"
    stands_for = "Go client: the hash is not masked, and characters beyond ASCII are hashed by bytes"

    def _hash(self, key: str) -> int:
        if self._scheme() is not HashingScheme.JAVA_STRING:
            return super()._hash(key)
        value = 0
        for byte in key.encode():
            value = (31 * value + byte) & 0xFFFFFFFF
        return value


class Murmur3KeepsSign(Publisher):
    """Murmur3_32Hash keeps its sign bit."""

    breaks = "routing.murmur3-hash"
    stands_for = "pulsar-rs and DotPulsar: the hash is not masked"

    def _hash(self, key: str) -> int:
        murmur3 = self._scheme() is HashingScheme.MURMUR3_32
        return murmur3_32_raw(key.encode()) if murmur3 else super()._hash(key)


class SinglePartitionRoundRobins(Publisher):
    """Single-partition routing uses the partitions in turn."""

    breaks = "routing.single-partition-stays"
    stands_for = "the default used whatever was configured"

    @property
    def _stays(self) -> bool:
        return False


class RoundRobinTwoMessagesEach(Publisher):
    """Without batching, round robin sends two messages to each partition."""

    breaks = "routing.round-robin-cycle"
    stands_for = "batching thresholds applied without batching"

    def _turn_of_message(self) -> int:
        self._turns += 1
        return self._start + self._turns // 2 - 1


class RoundRobinSwitchesEachMessage(Publisher):
    """With batching, round robin sends each message to the next partition."""

    breaks = "routing.round-robin-batching-window"
    stands_for = "round robin that ignores batching: batches of one message each"

    def _turn_of_window(self, window_ms: int) -> int:
        return self._turn_of_message()


class BatchingWindowOfOneDelay(Publisher):
    """With batching, round robin changes the partition after one publish delay, however many are configured."""

    breaks = "routing.round-robin-batching-window"
    stands_for = "an option that is never read"

    def _window_delays(self) -> int:
        return min(1, super()._window_delays())


class BatchingWindowTooLong(Publisher):
    """With batching, round robin changes the partition two publish delays late."""

    breaks = "routing.round-robin-batching-window"
    stands_for = "a window that is checked only when a batch is sent, and counted from there"

    def _window_delays(self) -> int:
        return super()._window_delays() + 2


class BatchingWindowNeverEnds(Publisher):
    """With batching, round robin never changes the partition."""

    breaks = "routing.round-robin-batching-window"
    stands_for = "a clock read once: one partition gets everything"

    def _turn_of_window(self, window_ms: int) -> int:
        return self._start


class SwitchFrequencyUnchecked(Validation):
    """A partition switch frequency of 0 publish delays is accepted."""

    breaks = "routing.partition-switch-frequency-minimum"
    stands_for = "a number passed on unchecked"

    def _has_no_window(self, settings: ProducerSettings) -> bool:
        return False


class DisconnectedPartitionBlocksAll(Publisher):
    """While one partition is not connected, messages for every partition are refused."""

    breaks = "routing.partitions-are-independent"
    stands_for = "one state kept for the producers of all partitions"

    def send(self, op: int, message: Outgoing, *, sync: bool = False) -> None:
        if all(producer.ready for producer in self._producers):
            super().send(op, message, sync=sync)
        else:
            self._shared.after(10 * MS, lambda: self.send(op, message, sync=sync))


class BatchingWindowOfOneNeverEnds(Publisher):
    """With windows of one publish delay, round robin never changes the partition."""

    breaks = "routing.short-batching-window-stalls-less"
    stands_for = "a window counted in whole additional delays, of which there are none"

    def _turn_of_window(self, window_ms: int) -> int:
        of_one = self._settings.batching_partition_switch_frequency == 1
        return self._start if of_one else super()._turn_of_window(window_ms)


def is_full(producer: Producer) -> bool:
    return producer._pending.why_full() is not None


class AvoidsFullPartition(Publisher):
    """Round robin skips partitions with a full queue."""

    breaks = "routing.avoids-full-partition"
    stands_for = "vivo's fork of the Java client"

    def _chosen(self, message: Outgoing, count: int) -> Producer:
        chosen = super()._chosen(message, count)
        while message.key is None and is_full(chosen) and not all(map(is_full, self._producers)):
            chosen = super()._chosen(message, count)
        return chosen


class CallsRouterTwice(Publisher):
    """A custom router is called twice for each message."""

    breaks = "routing.custom-router-called-once"
    stands_for = "the choice made once to find a queue and once more to send: a router with a counter skips partitions"

    def _ask(self, router: Router, message: Outgoing, count: int) -> int:
        super()._ask(router, message, count)
        return super()._ask(router, message, count)


class InvalidPartitionWraps(Publisher):
    """A partition number beyond the last is taken modulo the number of partitions."""

    breaks = ("routing.invalid-partition-fails-one-send", "routing.custom-router-called-once")
    stands_for = "a router's mistake is hidden: messages go to a partition that was not chosen"

    def _ask(self, router: Router, message: Outgoing, count: int) -> int:
        return super()._ask(router, message, count) % count


class SinglePartitionIsAlwaysFirst(Publisher):
    """Under single-partition routing every producer uses the first partition."""

    breaks = "routing.single-partition-is-random"
    stands_for = "a choice that is never made: the number stays 0"

    def _first(self) -> int:
        return 0 if self._settings.routing is Routing.SINGLE else super()._first()


class RoundRobinStartsAtFirst(Publisher):
    """Round robin of every producer starts at the first partition."""

    breaks = "routing.round-robin-random-start"
    stands_for = "a counter that begins at 0"

    def _first(self) -> int:
        return 0 if self._settings.routing is Routing.ROUND_ROBIN else super()._first()


class LazyStartOpensAll(Publisher):
    """The producers of all partitions are opened at once, although lazy start was configured."""

    breaks = "routing.lazy-start-opens-on-use"
    stands_for = "a setting that is accepted and not used"

    def _starts_lazily(self, partitions: int) -> bool:
        return False


class RefusedPartitionKeepsSend(Producer):
    """A send that waits for a partition whose producer is refused at its first use waits for ever."""

    breaks = "routing.lazy-start-failure-ends-send"
    stands_for = "the future of a producer that only its open call checks"

    def _ended(self, refusal: Refusal) -> None:
        if self._settings.lazy_start_partitioned_producers:
            self._waiting.clear()
        super()._ended(refusal)
