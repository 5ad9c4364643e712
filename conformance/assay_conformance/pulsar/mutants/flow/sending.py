"""Clients that mistake how much may wait to be sent."""

from __future__ import annotations

from collections.abc import Iterable

from assay_conformance.client.handler import Phase
from assay_conformance.client.ops import Op, Sent
from assay_conformance.client.pending import Pending
from assay_conformance.client.producer import Producer
from assay_conformance.client.publisher import Publisher
from assay_conformance.client.settings import ProducerSettings
from assay_conformance.client.values import Failed, Result
from assay_conformance.model.event import ErrorClass


class ChunkedMemoryDrifts(Pending):
    """The memory of a chunked message is released once for each chunk."""

    breaks = "flow.memory-limit"
    stands_for = "Java client (read in its source): the memory limit is gradually lost"

    def _chunk_left(self, part_of: Sent) -> None:
        super()._chunk_left(part_of)
        self._shared.memory_bytes -= len(part_of.message.payload)


class LateSendsFreeMemory(Producer):
    """A send on a producer that is closed, or whose topic was terminated, frees memory that it never took."""

    breaks = "flow.memory-limit"
    stands_for = "apache/pulsar#26469: what a send in a terminal state reserved is released twice"

    def _accept(self, sent: Sent) -> bool:
        if self.phase in (Phase.CLOSING, Phase.CLOSED):
            self.shared.memory_bytes -= len(sent.message.payload)
        return super()._accept(sent)


class IgnoresMaxPendingAcrossPartitions(Publisher):
    """maxPendingMessagesAcrossPartitions is ignored."""

    breaks = "flow.max-pending-across-partitions"
    stands_for = "a limit read and never used"

    def _settings_of_each(self, partitions: int) -> ProducerSettings:
        return self._settings


class MaxPendingAcrossPartitionsUndivided(Publisher):
    """Each partition gets the whole of maxPendingMessagesAcrossPartitions."""

    breaks = "flow.max-pending-across-partitions"
    stands_for = "a limit passed on without being divided"

    def _share(self, across: int, partitions: int) -> int:
        return across


class IgnoresMaxPendingMessages(Pending):
    """A full pending queue accepts more messages."""

    breaks = "flow.max-pending-messages"
    stands_for = "a limit read and never used"

    def _is_crowded(self, units: int) -> bool:
        return False


class MemoryLimitPerProducer(Pending):
    """Each producer has the client's whole memory limit for itself."""

    breaks = "flow.memory-limit"
    stands_for = "one limiter for each producer"

    _own_bytes = 0

    def _held_bytes(self) -> int:
        return self._own_bytes

    def accept(self, sent: Sent, units: int = 1) -> None:
        super().accept(sent, units)
        self._own_bytes += len(sent.message.payload)

    def _free_memory(self, sent: Sent, result: Result) -> None:
        super()._free_memory(sent, result)
        self._own_bytes -= len(sent.message.payload)


class OversizeKeepsQueueSlot(Producer):
    """A message refused as too large keeps its place in the pending queue."""

    breaks = "flow.full-queue-blocks-or-fails"
    stands_for = (
        "pulsar-client-go#762: a send that fails before it is written leaks its permit, and in the end all sends block"
    )

    def _too_large(self, sent: Sent, text: str) -> None:
        self._pending.accept(sent)
        super()._too_large(sent, text)


class MemoryNeverReleased(Pending):
    """The memory of a message is never released."""

    breaks = "flow.full-queue-blocks-or-fails"
    stands_for = "a counter that only counts up"

    def _free_memory(self, sent: Sent, result: Result) -> None:
        pass


class TimedOutKeepsMemory(Pending):
    """A message that times out does not release its memory."""

    breaks = "flow.full-queue-blocks-or-fails"
    stands_for = "memory released by receipts, and not where a send ends otherwise"

    def _free_memory(self, sent: Sent, result: Result) -> None:
        if not (isinstance(result, Failed) and result.error is ErrorClass.TIMEOUT):
            super()._free_memory(sent, result)


class ClosedKeepsMemory(Pending):
    """Pending messages of a closed producer do not release their memory."""

    breaks = "flow.full-queue-blocks-or-fails"
    stands_for = "a limit of the client, and a producer that resets only its own counter"

    def _free_memory(self, sent: Sent, result: Result) -> None:
        if not (isinstance(result, Failed) and result.error is ErrorClass.CLOSED):
            super()._free_memory(sent, result)


class TimedOutBatchFreesOnePlace(Pending):
    """A batch that fails gives back the place of one of its messages."""

    breaks = "flow.full-queue-blocks-or-fails"
    stands_for = "apache/pulsar#4657: a place for each message, returned once for a batch that times out"

    def fail(self, ops: Iterable[Op], error: ErrorClass, text: str) -> None:
        failed = list(ops)
        super().fail(failed, error, text)
        self._places += sum(len(op.sent) - 1 for op in failed if op.batch)
