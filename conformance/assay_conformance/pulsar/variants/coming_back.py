"""Clients that reconnect, and close, in other ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.pending import Pending
from assay_conformance.client.producer import Producer
from assay_conformance.client.publisher import Publisher
from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Failed, Outgoing, Result
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import pulsar_pb2 as pb

_AWAY = Failed(ErrorClass.TRANSPORT, "there is no connection to close it on")


class ReturnsWhenUsed(Producer):
    """A producer without pending sends reconnects with the next send, and not before."""

    as_in = "pulsar-rs, producer.rs: TopicProducer reconnects when a send finds its connection gone"
    within = ("connection.closes-timed-out-registration", "resend.reconnects-after-close-producer")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_resting = False

    def _wait(self, refusal: Refusal, delay_ns: int) -> None:
        if self.registrations and not len(self._pending) and not self._waiting:
            self._is_resting = True
        else:
            super()._wait(refusal, delay_ns)

    def send(self, op: int, message: Outgoing, *, sync: bool = False) -> None:
        super().send(op, message, sync=sync)
        if self._is_resting:
            self._is_resting = False
            self._seek(None)


class _NotesTimeOuts(Pending):
    has_timed_out = False

    def time_out(self) -> None:
        before = len(self)
        super().time_out()
        self.has_timed_out = self.has_timed_out or len(self) < before


class LeavesOverTimeOut(Producer):
    """After a send that times out, the next one closes the connection."""

    also = (_NotesTimeOuts,)
    as_in = "pulsar-rs, connection.rs: what has no answer in time marks its connection as broken"
    within = ("resend.ignores-stale-receipt", "resend.send-timeout")

    def send(self, op: int, message: Outgoing, *, sync: bool = False) -> None:
        pending, connection = self._pending, self.connection
        if isinstance(pending, _NotesTimeOuts) and pending.has_timed_out and connection is not None:
            pending.has_timed_out = False
            connection.close(Cause.LOST, "a send timed out there")
        super().send(op, message, sync=sync)


class _ProducerClosesWithError(Publisher):
    def close(self, closed: Callable[[Result], None]) -> None:
        away = not all(producer.ready for producer in self._producers)
        super().close(lambda result: closed(_AWAY if away else result))


class CloseFailsWithoutConnection(Subscription):
    """Closing a producer or consumer without a connection ends with an error, and it is closed."""

    also = (_ProducerClosesWithError,)
    as_in = "pulsar-rs, producer.rs and consumer/mod.rs: close asks the broker, and returns what became of that"
    within = ("resend.closed-stays-closed", "subscription.closed-stays-closed")

    def close(self, closed: Callable[[Result], None]) -> None:
        away = not all(consumer.ready for consumer in self.consumers)
        super().close(lambda result: closed(_AWAY if away else result))


class BusyReturnIsFinal(Consumer):
    """A consumer that gets ConsumerBusy when it reconnects gives up, and its receives fail."""

    as_in = "Go client, consumer_partition.go: nonRetriableSubscribeErrorMarkers; the parent consumer is closed"
    within = ("subscription.keeps-reconnecting",)

    def _is_final(self, refusal: Refusal) -> bool:
        return (not self._opening and refusal.code == pb.ConsumerBusy) or super()._is_final(refusal)
