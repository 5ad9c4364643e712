"""Clients that change the order of messages."""

from __future__ import annotations

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Opened
from assay_conformance.client.handed import Inbound
from assay_conformance.client.numbering import Numbering
from assay_conformance.client.ops import Op, Sent
from assay_conformance.client.pending import Pending
from assay_conformance.client.producer import Producer
from assay_conformance.client.settings import SubscriptionType
from assay_conformance.client.shared import MS
from assay_conformance.client.subscription import Receive, Subscription
from assay_conformance.client.values import Result
from assay_conformance.wire import Frame, MessageMetadata, decode, encode


def swap_payloads(first: Op, second: Op) -> None:
    """Swap the payloads of two units of one message each, which keep their sequence ids."""
    one, two = decode(first.frame), decode(second.frame)
    for op, own, other in ((first, one, two), (second, two, one)):
        assert other.payload is not None
        metadata = MessageMetadata()
        metadata.CopyFrom(other.payload.metadata)
        metadata.sequence_id = op.sequence_id
        op.frame = encode(own.command, metadata=metadata, data=other.payload.data)


class SwapsSendsWhileDisconnected(Producer):
    """The payloads of the last two sends made during an outage are swapped."""

    breaks = "ordering.keeps-send-order"
    stands_for = "pulsar-client-go#1394: a buffer goes back to its pool while a send still needs it"

    def _units_to_resend(self) -> list[Op]:
        units = super()._units_to_resend()
        unwritten = [op for op in units if op.session is None]
        if len(unwritten) > 1:
            swap_payloads(*unwritten[-2:])
        return units


class OvertakesResend(Producer):
    """Sends made during an outage are written before the older pending ones (resend.keeps-queue-order notices too)."""

    breaks = "ordering.keeps-send-order"
    stands_for = "apache/pulsar#12779: a new send runs into the resend of older ones"

    def _units_to_resend(self) -> list[Op]:
        return sorted(super()._units_to_resend(), key=lambda op: op.session is not None)


class SkipsSequenceId(Numbering):
    """Each reconnect skips one sequence id."""

    breaks = "ordering.sequence-ids-increase-by-one"
    stands_for = "a counter advanced by the registration, not by the send"

    def registered_again(self, last_sequence_id: int) -> None:
        self._next += 1


class ReversesBatch(Consumer):
    """The messages of a batch are delivered in reverse order."""

    breaks = "ordering.delivers-in-message-id-order"
    stands_for = "a stack where a queue was meant"

    def _ordered(self, messages: list[Opened]) -> list[Opened]:
        return super()._ordered(messages)[::-1]


class KeyLastFirst(Consumer):
    """A Key_Shared consumer delivers the messages of a batch in reverse order."""

    breaks = "ordering.key-delivered-in-order"
    stands_for = "messages of one key that several threads take from one queue"

    def _ordered(self, messages: list[Opened]) -> list[Opened]:
        by_key = self._settings.subscription_type is SubscriptionType.KEY_SHARED
        return super()._ordered(messages)[:: -1 if by_key else 1]


class KeepsOldEpoch(Consumer):
    """Messages in flight when redelivery of everything is requested are delivered."""

    breaks = "ordering.old-consumer-epoch-dropped"
    stands_for = "C++, Go, pulsar-rs and DotPulsar (read in their source): no consumer epochs"

    def _is_stale(self, frame: Frame) -> bool:
        return False


class CompletesOutOfOrder(Pending):
    """Of several sends in flight, every other callback is delayed, so that the next one runs first."""

    breaks = "ordering.callbacks-in-send-order"
    stands_for = "callbacks handed to a pool of threads that keeps no order"

    def complete(self, sent: Sent, result: Result) -> None:
        op = sent.op
        if op is not None and self._ops and sent.sequence_id % 2 == 0:
            self._shared.after(20 * MS, lambda: self._shared.completed(op, result))
        else:
            super().complete(sent, result)


class HandlerGetsLatestFirst(Subscription):
    """A message handler is called with the latest message first."""

    breaks = "ordering.delivers-in-message-id-order"
    stands_for = "handler calls given to a thread pool one by one, in no guaranteed order"

    def _taken(self) -> Inbound | None:
        return self._queue.pop() if self._queue else None


class BatchHandedOverBackwards(Subscription):
    """A batch receive returns its messages in reverse order."""

    breaks = "ordering.delivers-in-message-id-order"
    stands_for = "a batch that is filled from a stack"

    def _end_batch(self, batch: Receive) -> None:
        count = self._batch_limits.take(self._queue)
        head = [self._queue.popleft() for _ in range(count)]
        self._queue.extendleft(head)
        super()._end_batch(batch)
