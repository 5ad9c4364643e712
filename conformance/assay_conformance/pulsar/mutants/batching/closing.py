"""Clients whose batches leave too early, too late or too large."""

from __future__ import annotations

import sys

from assay_conformance.client.batch import Batching, OpenBatch, key_of
from assay_conformance.client.ops import Sent
from assay_conformance.client.producer import Completed, Producer
from assay_conformance.client.settings import BatchingType
from assay_conformance.client.shared import MS
from assay_conformance.client.values import Done
from assay_conformance.pulsar.mutants._late import late_ns


class BatchOverfills(Batching):
    """A producer's batch takes one message more than its maximum."""

    breaks = "batching.closes-at-first-limit"
    stands_for = "off by one"

    def _max_messages(self) -> int:
        return super()._max_messages() + 1


class OversizeMessageWaitsForNext(Batching):
    """A message of more bytes than a batch is to have leaves when another one comes, or a flush."""

    breaks = "batching.closes-at-first-limit"
    stands_for = "apache/pulsar#19191: the way of a message that does not fit starts no timer"

    def _is_complete(self, batch: OpenBatch) -> bool:
        alone = len(batch.sent) == 1 and len(batch.sent[0].message.payload) > self._max_bytes()
        if alone and batch.timer is not None:
            batch.timer.cancel()
        return super()._is_complete(batch) and not alone


class BatchIgnoresBytes(Batching):
    """A producer's batch is not closed by its maximum of bytes."""

    breaks = "batching.closes-at-first-limit"
    stands_for = "a limit read and never used"

    def _max_bytes(self) -> int:
        return sys.maxsize


class FullBatchWaitsForNextMessage(Batching):
    """A batch that is full by count is sent only when another message is added."""

    breaks = "batching.closes-at-first-limit"
    stands_for = (
        "pulsar-client-go, internalSend (read in its source): the next message checks whether the batch is full"
    )

    def _is_complete(self, batch: OpenBatch) -> bool:
        return False


class BatchDelayLate(Batching):
    """A batch is closed later than its delay."""

    breaks = "batching.closes-at-first-limit"
    stands_for = "a timer that ticks coarsely"
    lateness_ms = 200

    def _delay_ns(self) -> int:
        return super()._delay_ns() + late_ns(self._shared, BatchDelayLate)


class BatchWaitsForReceipt(Batching):
    """A full batch waits until the one before it has its receipt."""

    breaks = "batching.fills-while-previous-pending"
    stands_for = "one request in flight at a time: the queue stays half empty for each round trip"

    def _is_complete(self, batch: OpenBatch) -> bool:
        return not len(self._pending) and super()._is_complete(batch)


class BatchClosesHalfFull(Batching):
    """A batch is sent when it holds half of its maximum of messages."""

    breaks = "batching.burst-fills-batches"
    stands_for = "the limit taken for the size of a buffer that is swapped when half full"

    def _max_messages(self) -> int:
        return super()._max_messages() // 2


class FirstBatchIgnoresDelay(Batching):
    """A producer's first batch is sent a millisecond after its first message, whatever its delay."""

    breaks = "batching.partial-batch-needs-reason"
    stands_for = "a delay counted from the batch before, and there was none"

    _is_first = True

    def _delay_ns(self) -> int:
        first, self._is_first = self._is_first, False
        return 1 * MS if first else super()._delay_ns()


class BatchIgnoresDelay(Batching):
    """Every batch is sent a millisecond after its first message, whatever its delay."""

    breaks = "batching.partial-batch-needs-reason"
    stands_for = "a timer with a constant period, and a setting that is never read"

    def _delay_ns(self) -> int:
        return 1 * MS


class SyncSendWaitsForBatchDelay(Producer):
    """A synchronous send waits for the delay of its batch."""

    breaks = "batching.flush-closes-batch"
    stands_for = "a blocking send made of an asynchronous one and a wait"

    def _accept_sync(self, sent: Sent) -> bool:
        return self._accept(sent)


class SyncSendReturnsAtOnce(Producer):
    """A synchronous send returns without its receipt."""

    breaks = "batching.flush-closes-batch"
    stands_for = "success reported for a message that is only in the client's memory"

    def _accept_sync(self, sent: Sent) -> bool:
        if not super()._accept_sync(sent):
            return False
        self._pending.complete(sent, Done(sequence_id=sent.sequence_id))
        sent.op = None
        return True


class FlushWaitsForBatchDelay(Producer):
    """Flush waits for the open batch, but does not send it."""

    breaks = "batching.flush-closes-batch"
    stands_for = "a flush that only waits for pending sends"

    def _flush_all(self, flushed: Completed) -> None:
        if self._batching.is_open:
            delay_ms = self._settings.batching_max_publish_delay_ms
            self.shared.after(delay_ms * MS, lambda: self._pending.flush(flushed))
        else:
            super()._flush_all(flushed)


class BatchTimerNeedsConnection(Batching):
    """A batch whose delay passes without a connection leaves when another message or a flush closes it."""

    breaks = "batching.closes-at-first-limit"
    stands_for = "apache/pulsar#14870: a timer that finds no connection does nothing, and is not started again"

    def _arm(self, batch: OpenBatch) -> None:
        super()._arm(batch)
        if batch.timer is not None and self._pending.due_ns(batch.first_ns) != batch.timer.due_ns:
            batch.timer.cancel()
            batch.timer = self._shared.after(self._delay_ns(), self._close_connected)

    def _close_connected(self) -> None:
        producer = self._built.__self__  # type: ignore[attr-defined]
        if producer.ready or not producer.registrations:
            self.close()


class FullQueueStopsBatchTimer(Batching):
    """A producer that blocks when its queue is full ignores the delay of its batches."""

    breaks = "batching.small-queue-does-not-stall"
    stands_for = "a batch larger than the queue waits for messages, which wait for room in the queue"

    def _arm(self, batch: OpenBatch) -> None:
        if not self._settings.block_if_queue_full:
            super()._arm(batch)


class FullQueueClosesBatch(Batching):
    """A producer that blocks when its queue is full closes its batch as soon as the queue is full."""

    breaks = "batching.small-queue-does-not-stall"
    stands_for = "what non-blocking producers do, done by a blocking one: the queue size becomes the batch's limit"

    def _is_complete(self, batch: OpenBatch) -> bool:
        fills = self._settings.block_if_queue_full and self._pending.why_full() is not None
        return fills or super()._is_complete(batch)


class NewKeyRestartsDelay(Batching):
    """With key-based batching the first message of each key restarts the batch delay."""

    breaks = "batching.closes-at-first-limit"
    stands_for = (
        "C++ client (read in its source): one timer for the batches of all keys, started whenever one of them begins"
    )

    def _take(self, batch: OpenBatch, sent: Sent) -> None:
        keyed = self._settings.batching_type is BatchingType.KEY_BASED
        if keyed and batch.sent and key_of(sent) not in map(key_of, batch.sent):
            self._arm(batch)
        super()._take(batch, sent)
