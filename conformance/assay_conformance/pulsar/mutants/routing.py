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
    """Routing to a single partition takes messages with keys there, too."""

    breaks = "routing.key-chooses-partition"
    stands_for = "pulsar-rs: keys count under one routing policy only"

    def _choice(self, message: Outgoing) -> int:
        single = self._settings.routing is Routing.SINGLE
        return super()._choice(replace(message, key=None) if single else message)


class JavaHashOfBytes(Publisher):
    """JavaStringHash runs over bytes and keeps its sign bit."""

    breaks = "routing.java-string-hash"
    stands_for = "Go client: the hash is not masked, and other letters than ASCII count by bytes"

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
    """Routing to a single partition takes turns."""

    breaks = "routing.single-partition-stays"
    stands_for = "the default taken whatever was configured"

    @property
    def _stays(self) -> bool:
        return False


class RoundRobinTwoMessagesEach(Publisher):
    """Two messages go to a partition before it is the next one's turn."""

    breaks = "routing.round-robin-cycle"
    stands_for = "thresholds of batching in force without batching"

    def _turn_of_message(self) -> int:
        self._turns += 1
        return self._start + self._turns // 2 - 1


class RoundRobinSwitchesEachMessage(Publisher):
    """With batching each message goes to the next partition."""

    breaks = "routing.round-robin-batching-window"
    stands_for = "turns that do not know of batching: entries of one message each"

    def _turn_of_window(self, window_ms: int) -> int:
        return self._turn_of_message()


class BatchingWindowOfOneDelay(Publisher):
    """With batching the partition changes after one publish delay, however many are configured."""

    breaks = "routing.round-robin-batching-window"
    stands_for = "an option that is never read"

    def _window_delays(self) -> int:
        return min(1, super()._window_delays())


class BatchingWindowTooLong(Publisher):
    """With batching the partition changes two publish delays late."""

    breaks = "routing.round-robin-batching-window"
    stands_for = "a window that is looked at only when a batch leaves, and counted from there"

    def _window_delays(self) -> int:
        return super()._window_delays() + 2


class BatchingWindowNeverEnds(Publisher):
    """With batching the partition never changes."""

    breaks = "routing.round-robin-batching-window"
    stands_for = "a clock read once: one partition gets everything"

    def _turn_of_window(self, window_ms: int) -> int:
        return self._start


class SwitchFrequencyUnchecked(Validation):
    """Windows of no publish delay are taken."""

    breaks = "routing.partition-switch-frequency-minimum"
    stands_for = "a number handed on as it is"

    def _has_no_window(self, settings: ProducerSettings) -> bool:
        return False


class DisconnectedPartitionBlocksAll(Publisher):
    """While one partition is not connected no message is taken to any."""

    breaks = "routing.partitions-are-independent"
    stands_for = "one state kept for the producers of all partitions"

    def send(self, op: int, message: Outgoing, *, sync: bool = False) -> None:
        if all(producer.ready for producer in self._producers):
            super().send(op, message, sync=sync)
        else:
            self._shared.after(10 * MS, lambda: self.send(op, message, sync=sync))


class BatchingWindowOfOneNeverEnds(Publisher):
    """With windows of one publish delay a producer stays on its partition for good."""

    breaks = "routing.short-batching-window-stalls-less"
    stands_for = "a window counted in whole further delays: of one there are none"

    def _turn_of_window(self, window_ms: int) -> int:
        of_one = self._settings.batching_partition_switch_frequency == 1
        return self._start if of_one else super()._turn_of_window(window_ms)


def is_full(producer: Producer) -> bool:
    return producer._pending.why_full() is not None


class AvoidsFullPartition(Publisher):
    """A message whose turn is at a full partition goes to the next one with room."""

    breaks = "routing.avoids-full-partition"
    stands_for = "vivo's fork of the Java client"

    def _chosen(self, message: Outgoing, count: int) -> Producer:
        chosen = super()._chosen(message, count)
        while message.key is None and is_full(chosen) and not all(map(is_full, self._producers)):
            chosen = super()._chosen(message, count)
        return chosen


class CallsRouterTwice(Publisher):
    """A router of the application is asked twice for each message."""

    breaks = "routing.custom-router-called-once"
    stands_for = (
        "the choice made once to find a queue and once more to send: a router that counts leaves partitions out"
    )

    def _ask(self, router: Router, message: Outgoing, count: int) -> int:
        super()._ask(router, message, count)
        return super()._ask(router, message, count)


class InvalidPartitionWraps(Publisher):
    """A partition that there is not is taken as a remainder."""

    breaks = ("routing.invalid-partition-fails-one-send", "routing.custom-router-called-once")
    stands_for = "a router's mistake hidden: messages go to a partition that was not chosen"

    def _ask(self, router: Router, message: Outgoing, count: int) -> int:
        return super()._ask(router, message, count) % count


class SinglePartitionIsAlwaysFirst(Publisher):
    """The partition of every producer under single-partition routing is the first."""

    breaks = "routing.single-partition-is-random"
    stands_for = "a choice that was never made: the number begins as 0"

    def _first(self) -> int:
        return 0 if self._settings.routing is Routing.SINGLE else super()._first()


class RoundRobinStartsAtFirst(Publisher):
    """The turns of every producer begin at the first partition."""

    breaks = "routing.round-robin-random-start"
    stands_for = "a counter that begins at 0"

    def _first(self) -> int:
        return 0 if self._settings.routing is Routing.ROUND_ROBIN else super()._first()


class LazyStartOpensAll(Publisher):
    """All producers of partitions open at once, whatever was configured."""

    breaks = "routing.lazy-start-opens-on-use"
    stands_for = "a setting that is taken and passed on to nothing"

    def _starts_lazily(self, partitions: int) -> bool:
        return False


class RefusedPartitionKeepsSend(Producer):
    """What waits for a producer that is refused at its first use waits for ever."""

    breaks = "routing.lazy-start-failure-ends-send"
    stands_for = "the future of a producer that is looked at by its open call alone"

    def _ended(self, refusal: Refusal) -> None:
        if self._settings.lazy_start_partitioned_producers:
            self._waiting.clear()
        super()._ended(refusal)
