"""Clients whose producers break the rules of names, access modes and closing."""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.client.handler import Handler
from assay_conformance.client.hooks import Interceptor
from assay_conformance.client.ops import OpBuilder, Sent
from assay_conformance.client.producer import Completed, Producer
from assay_conformance.client.publisher import Publisher
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.requests import Requests
from assay_conformance.client.values import Done, Failed, Outgoing, Result
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import BaseCommand, MessageMetadata
from assay_conformance.wire import pulsar_pb2 as pb


class FencedWithGenericError(Producer):
    """Pending sends of a fenced producer fail with an error that does not say that it was fenced."""

    breaks = "producer.fenced-is-final"
    stands_for = "an error code without an exception of its own"

    def _fail_all(self, error: ErrorClass, text: str) -> None:
        super()._fail_all(ErrorClass.OTHER if error is ErrorClass.FENCED else error, text)


class ClaimsAssignedName(Producer):
    """A producer named by the broker states that its user chose the name."""

    breaks = "producer.keeps-assigned-name"
    stands_for = "pulsar-rs and DotPulsar: the flag is left at its default"

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        built.producer.user_provided_producer_name = True
        return built


class CloseFailsPending(Producer):
    """Close fails pending sends before it asks the broker."""

    breaks = "producer.close-ends-pending-sends"
    stands_for = (
        "pulsar-client-cpp#303, and C++ 4.2 (read in its source): messages that were stored are reported as failed"
    )

    def leave(self, left: Callable[[Refusal | None], None]) -> None:
        self._fail_unreceipted()
        super().leave(left)


class PendingOutlivesClose(Producer):
    """Sends without a receipt stay pending for ever after close."""

    breaks = "producer.close-ends-pending-sends"
    stands_for = "pulsar-client-go#1059: callbacks of pending messages are lost"

    def _fail_unreceipted(self) -> None:
        pass


class CloseSendsOneKey(Producer):
    """Close sends the batch of one key, and forgets those of other keys: their sends never end."""

    breaks = "producer.close-ends-pending-sends"
    stands_for = "apache/pulsar#14898: one batch of the container is processed on close, and there are several"

    def _close(self, closed: Completed) -> bool:
        batch = self._batching._batch
        if batch is not None and len(groups := batch.groups()) > 1:
            batch.sent = groups[0].sent
            batch._begun_ns = batch._begun_ns[: len(batch.sent)]
        return super()._close(closed)


class FlushReturnsAtOnce(Producer):
    """Flush does not wait for receipts."""

    breaks = "producer.flush-waits"
    stands_for = "pulsar-client-cpp#98: flush does nothing where batching is off"

    def _flush_all(self, flushed: Completed) -> None:
        self._batching.close()
        flushed(Done())


class FlushWithoutOpenBatchReturns(Producer):
    """Flush with batching on and no batch open does not wait for receipts."""

    breaks = "producer.flush-waits"
    stands_for = "pulsar-client-cpp#303: flush returns at once although sends are pending"

    def _flush_all(self, flushed: Completed) -> None:
        if self._settings.batching and not self._batching.is_open:
            flushed(Done())
        else:
            super()._flush_all(flushed)


class InterceptorsRunAfterRouter(Publisher):
    """The partition is chosen before interceptors run."""

    breaks = "producer.interceptors-run-first"
    stands_for = "a message that is changed too late for routing"

    def _intercept_and_route(self, message: Outgoing) -> tuple[Outgoing, Producer | Failed]:
        producer = self._route(message)
        return self._intercepted(message), producer


class InterceptorsNotifiedLast(Publisher):
    """When a send ends, the application's callback runs before the interceptors."""

    breaks = "producer.interceptors-run-first"
    stands_for = "an interceptor's measurements are used before they are taken"

    def _call_interceptor(self, interceptor: Interceptor, op: int, message: Outgoing, result: Result) -> None:
        self._shared.completed(op, result)
        interceptor.acknowledged(message, result)


class InterceptorsNotifiedOfLast(Publisher):
    """Interceptors are notified of the last message of a batch only."""

    breaks = "producer.interceptors-run-first"
    stands_for = "apache/pulsar#2655, of consumers: interceptors are called for an entry, and not for its messages"

    def _call_interceptor(self, interceptor: Interceptor, op: int, message: Outgoing, result: Result) -> None:
        id = result.message_id if isinstance(result, Done) else None
        if id is not None and 0 <= id.batch_index < id.batch_size - 1:
            self._shared.completed(op, result)
        else:
            super()._call_interceptor(interceptor, op, message, result)


class WaitingProducerTimesOut(Requests):
    """A WaitForExclusive producer gives up after the operation time-out."""

    breaks = "producer.waits-for-exclusive-access"
    stands_for = "one time-out for every request, although the broker asked this one to wait"

    def wait_longer(self, request_id: int) -> None:
        pass


class ForgetsTopicEpoch(Producer):
    """A producer reconnects without its topic_epoch."""

    breaks = "producer.echoes-topic-epoch"
    stands_for = "pulsar-rs (read in its source): topic_epoch is never sent"

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        built.producer.ClearField("topic_epoch")
        return built


class RetriesFenced(Handler):
    """A fenced producer keeps reconnecting."""

    breaks = "producer.fenced-is-final"
    stands_for = "every error taken for a temporary one"

    def _is_final(self, refusal: Refusal) -> bool:
        return refusal.code != pb.ProducerFenced and super()._is_final(refusal)


class OrderingKeyWithoutBatchLost(OpBuilder):
    """An unbatched message is sent without its ordering key."""

    breaks = "producer.keys-as-given"
    stands_for = "pulsar-client-go#1034, pulsar-rs#290: the ordering key is copied only into batches"

    def _metadata(self, sent: Sent, unix_ms: int, *, whole: bool = True) -> MessageMetadata:
        metadata = super()._metadata(sent, unix_ms, whole=whole)
        metadata.ClearField("ordering_key")
        return metadata


class KeyWithoutBatchLost(OpBuilder):
    """An unbatched message is sent without its key."""

    breaks = "producer.keys-as-given"
    stands_for = "metadata filled in in two places, for messages and for members of a batch"

    def _metadata(self, sent: Sent, unix_ms: int, *, whole: bool = True) -> MessageMetadata:
        metadata = super()._metadata(sent, unix_ms, whole=whole)
        metadata.ClearField("partition_key")
        return metadata


class GivesUpOverQuota(Handler):
    """A producer that is refused for a backlog quota when it reconnects never tries again, and still accepts sends."""

    breaks = "producer.keeps-reconnecting"
    stands_for = "pulsar-client-go 0.17.0: a quota that was exceeded for a while ends the reconnecting (milvus#49932)"

    def _wait(self, refusal: Refusal, delay_ns: int) -> None:
        if self._opening or refusal.code != pb.ProducerBlockedQuotaExceededException:
            super()._wait(refusal, delay_ns)
