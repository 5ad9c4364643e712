"""Clients whose batches are too large, too small, too early or too late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay_conformance.client.batch_receive import BatchLimits
from assay_conformance.client.handed import Inbound
from assay_conformance.client.subscription import Receive, Subscription


class BatchIgnoresMaxMessages(BatchLimits):
    """A batch has all that has come, once there is enough."""

    breaks = "batch-receive.within-limits"
    stands_for = "a limit that says when a batch is full, and is not looked at while it is filled"

    def _has(self, count: int) -> bool:
        return False


class BatchExceedsMaxBytes(BatchLimits):
    """The message with which a batch exceeds its bytes is part of it."""

    breaks = "batch-receive.within-limits"
    stands_for = "bytes that are counted behind the message, not before: canAdd that asks for the sum so far"

    def take(self, queue: Sequence[Inbound]) -> int:
        size = 0
        for count, inbound in enumerate(queue):
            if count and (self._has(count) or 0 < self._most_bytes <= size):
                return count
            size += len(inbound.opened.payload)
        return len(queue)


class BatchNeverTimesOut(BatchLimits):
    """A batch receive ends when it is full, however long that takes."""

    breaks = "batch-receive.ends-at-first-limit"
    stands_for = "a timer that is started with the first message, of which none comes"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.timeout_ms = 0


class FullBatchWaits(BatchLimits):
    """A batch receive ends with its time, and not before."""

    breaks = "batch-receive.ends-at-first-limit"
    stands_for = "limits that cut a batch, and end no wait"

    def is_enough(self, queue: Sequence[Inbound]) -> bool:
        return False


class BatchDoesNotWait(BatchLimits):
    """A batch receive ends with the first message."""

    breaks = "batch-receive.ends-at-first-limit"
    stands_for = "a batch receive that is one receive and what lies beside it"

    def is_enough(self, queue: Sequence[Inbound]) -> bool:
        return bool(queue)


class BatchLeavesLast(BatchLimits):
    """The last message of the queue stays there, unless it is the only one."""

    breaks = "batch-receive.takes-what-is-there"
    stands_for = "a loop that looks one message ahead"

    def take(self, queue: Sequence[Inbound]) -> int:
        return min(super().take(queue), max(1, len(queue) - 1)) if queue else 0


class BatchDropsRest(Subscription):
    """What lies behind a batch that is full is dropped."""

    breaks = "batch-receive.takes-what-is-there"
    stands_for = "a queue that is drained into a batch, which refuses what is beyond its limits"

    def _end_batch(self, batch: Receive) -> None:
        super()._end_batch(batch)
        self._queue.clear()
