"""Clients with other timers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from assay_conformance.client.batch import Batching
from assay_conformance.client.core import ClientCore
from assay_conformance.client.ops import Op, Sent
from assay_conformance.client.pending import Pending
from assay_conformance.client.requests import Requests
from assay_conformance.client.settings import ProducerSettings
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Failed, Result
from assay_conformance.model.event import ErrorClass, MessageId
from assay_conformance.model.facts import Lack

CLOSING_MS = 2_000


class TimeOutsOncePerPeriod(Requests):
    """Pending requests are checked once per operation time-out, so that each waits for up to two of them."""

    as_in = "Java client, ClientCnx: checkRequestTimeout at a fixed rate of operationTimeoutMs"
    within = (
        "connection.closes-timed-out-registration",
        "connection.retries-lookups",
        "resend.retries-transient-error",
    )

    def _timeout_ns(self) -> int:
        period_ns, now_ns = super()._timeout_ns(), self._shared.now_ns
        return -(-(now_ns + period_ns) // period_ns) * period_ns - now_ns


class DelayFromTheBatchBefore(Batching):
    """The delay of a batch counts from when the batch before it left, where that was less than a delay ago."""

    as_in = "Java client, ProducerImpl.batchFlushTask: lastBatchSendNanoTime"
    within = (
        "batching.partial-batch-needs-reason",
        "batching.closes-at-first-limit",
        "batching.burst-fills-batches",
        "routing.round-robin-batching-window",
    )

    _left_ns: int | None = None

    def close(self) -> None:
        if self.is_open:
            self._left_ns = self._shared.now_ns
        super().close()

    def _delay_ns(self) -> int:
        delay_ns = super()._delay_ns()
        passed_ns = delay_ns if self._left_ns is None else self._shared.now_ns - self._left_ns
        return delay_ns - passed_ns if passed_ns < delay_ns else delay_ns


class ClosingTakesTwoSeconds(ClientCore):
    """Closing a client takes two seconds."""

    as_in = "Java client, PulsarClientImpl.shutdown: Netty's event loops end after a quiet period of two seconds"
    within = ("robustness.calls-do-not-hang", "resend.closed-stays-closed", "ack.flushed-on-close")

    def _shut(self, op: int, result: Result) -> None:
        self._shared.after(CLOSING_MS * MS, lambda: super(ClosingTakesTwoSeconds, self)._shut(op, result))


class SeekOfClosedTimesOut(Subscription):
    """A seek of a consumer that is closed fails at the operation time-out."""

    as_in = "Java client, ConsumerImpl.seekAsyncInternal: a seek tries again until there is a connection"
    within = (
        "robustness.calls-do-not-hang",
        "robustness.closed-handle-refuses",
        "robustness.trouble-delays-no-other",
    )

    def seek(self, op: int, message_id: MessageId | None, publish_time_ms: int | None) -> None:
        if not self._closed:
            super().seek(op, message_id, publish_time_ms)
            return
        late = Failed(ErrorClass.TIMEOUT, "there was no connection in time")
        timeout_ns = self._shared.settings.operation_timeout_ms * MS
        self._shared.after(timeout_ns, lambda: self._shared.sink.completed(op, late))


class EndsInAnyOrder(Pending):
    """The sends of a batch are reported in another order than they were called in."""

    as_in = "pulsar-rs, whose sends are futures: the scheduler of the application resolves them"
    within = ("producer.flush-waits", "flow.full-queue-blocks-or-fails")
    declares: ClassVar = {"lacks": frozenset({Lack.SEND_CALLBACKS})}

    def release(self, group: Sequence[Sent], result: Result) -> None:
        super().release(tuple(reversed(group)), result)


class LooksOncePerDelay(Batching):
    """Open batches are checked once in each delay, whenever their first message was added."""

    as_in = "Go client, producer_partition.go: batchFlushTicker"
    within = (
        "batching.closes-at-first-limit",
        "batching.partial-batch-needs-reason",
        "batching.small-queue-does-not-stall",
        "routing.round-robin-batching-window",
    )

    def __init__(
        self,
        shared: Shared,
        settings: ProducerSettings,
        pending: Pending,
        build: Callable[[Sequence[Sent], int], Op],
        built: Callable[[Sequence[Op]], None],
    ) -> None:
        super().__init__(shared, settings, pending, build, built)
        self._began_ns = shared.now_ns

    def _delay_ns(self) -> int:
        period_ns = super()._delay_ns()
        return period_ns - (self._shared.now_ns - self._began_ns) % period_ns if period_ns else 0
