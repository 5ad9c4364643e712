"""Clients whose batches are too large, too small, too early or too late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay_conformance.client.batch_receive import BatchLimits
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.handed import Inbound
from assay_conformance.client.subscription import Receive, Subscription


class BatchIgnoresMaxMessages(BatchLimits):
    """A batch receive returns all messages that have arrived, even beyond its maximum number."""

    breaks = "batch-receive.within-limits"
    stands_for = "a limit that says when a batch is full, and is not checked while it is filled"

    def _has(self, count: int) -> bool:
        return False


class BatchExceedsMaxBytes(BatchLimits):
    """A batch receive includes the message with which it exceeds its maximum of bytes."""

    breaks = "batch-receive.within-limits"
    stands_for = "bytes counted after the message is added, not before: canAdd compares the sum so far"

    def take(self, queue: Sequence[Inbound]) -> int:
        size = 0
        for count, inbound in enumerate(queue):
            if count and (self._has(count) or 0 < self._most_bytes <= size):
                return count
            size += len(inbound.opened.payload)
        return len(queue)


class _CountsWhatWasDropped(BatchLimits):
    dropped_bytes = 0

    def is_enough(self, queue: Sequence[Inbound]) -> bool:
        return super().is_enough(queue) or 0 < self._most_bytes <= self.dropped_bytes + _bytes_of(queue)


class DroppedBytesCount(Subscription):
    """Bytes that a seek, a lost connection or a redelivery takes out of the queue count for the batches after it."""

    breaks = "batch-receive.ends-at-first-limit"
    stands_for = "apache/pulsar#8566: a sum beside the queue, from which a queue that is cleared is not subtracted"
    also = (_CountsWhatWasDropped,)

    def withdraw(self, consumer: Consumer) -> int:
        limits, gone = self._batch_limits, [one for one in self._queue if one.consumer is consumer]
        assert isinstance(limits, _CountsWhatWasDropped)
        limits.dropped_bytes += _bytes_of(gone)
        return super().withdraw(consumer)


class _CountsWhatWasReceived(BatchLimits):
    received_bytes = 0

    def is_enough(self, queue: Sequence[Inbound]) -> bool:
        return super().is_enough(queue) or 0 < self._most_bytes <= self.received_bytes + _bytes_of(queue)


class ReceivedBytesCount(Subscription):
    """Bytes of messages that are received one by one count for the batches behind them."""

    breaks = "batch-receive.ends-at-first-limit"
    stands_for = "apache/pulsar#8566: a sum beside the queue, from which a single receive is not subtracted"
    also = (_CountsWhatWasReceived,)

    def _next(self) -> Inbound:
        inbound, limits = super()._next(), self._batch_limits
        assert isinstance(limits, _CountsWhatWasReceived)
        if self._receives and self._receives[0].count is not None:
            limits.received_bytes += len(inbound.opened.payload)
        return inbound


def _bytes_of(messages: Sequence[Inbound]) -> int:
    return sum(len(one.opened.payload) for one in messages)


class BatchNeverTimesOut(BatchLimits):
    """A batch receive ends only when it is full, whatever its time-out."""

    breaks = "batch-receive.ends-at-first-limit"
    stands_for = "a timer that is started by the first message, and none comes"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.timeout_ms = 0


class FullBatchWaits(BatchLimits):
    """A batch receive ends at its time-out only, even when it is full."""

    breaks = "batch-receive.ends-at-first-limit"
    stands_for = "limits that cut off a batch, but do not end its wait"

    def is_enough(self, queue: Sequence[Inbound]) -> bool:
        return False


class SecondBatchNeverEnds(Subscription):
    """Of two batch receives that wait at the same time, the second never ends."""

    breaks = "batch-receive.ends-at-first-limit"
    stands_for = "apache/pulsar#11689: a call that was looked at is not the one that is taken out, and taken out it is"

    def _end_batch(self, batch: Receive) -> None:
        second = next((one for one in self._receives if one.count is None and one is not batch), None)
        super()._end_batch(batch)
        if second is not None and second in self._receives:
            self._receives.remove(second)
            if second.timer is not None:
                second.timer.cancel()


class BatchDoesNotWait(BatchLimits):
    """A batch receive ends with the first message that arrives."""

    breaks = "batch-receive.ends-at-first-limit"
    stands_for = "a batch receive made of one receive and whatever else is queued"

    def is_enough(self, queue: Sequence[Inbound]) -> bool:
        return bool(queue)


class BatchLeavesLast(BatchLimits):
    """A batch receive leaves the last message in the queue, unless it is the only one."""

    breaks = "batch-receive.takes-what-is-there"
    stands_for = "a loop that looks one message ahead"

    def take(self, queue: Sequence[Inbound]) -> int:
        return min(super().take(queue), max(1, len(queue) - 1)) if queue else 0


class BatchDropsRest(Subscription):
    """Messages in the queue beyond a full batch receive are dropped."""

    breaks = "batch-receive.takes-what-is-there"
    stands_for = "a queue that is drained into a batch, which refuses messages beyond its limits"

    def _end_batch(self, batch: Receive) -> None:
        super()._end_batch(batch)
        self._queue.clear()
