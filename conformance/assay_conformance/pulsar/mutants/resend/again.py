"""Clients that send the wrong units again after a reconnect, or at the wrong time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay_conformance.client.batch import Batching
from assay_conformance.client.connection import Connection
from assay_conformance.client.handler import Phase
from assay_conformance.client.ops import Op
from assay_conformance.client.pending import Pending
from assay_conformance.client.producer import Producer
from assay_conformance.client.receipts import Receipts
from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.mutants._late import late_ns
from assay_conformance.wire import Frame, decode, encode
from assay_conformance.wire import pulsar_pb2 as pb


def fail_written(producer: Producer, which: Callable[[Op], bool]) -> None:
    """Fail units that were written: their connection ended."""
    lost = producer._pending.take(lambda op: not op.certain and which(op))
    producer._pending.fail(lost, ErrorClass.TRANSPORT, "the connection was lost")
    producer._pending.settled()


class FailsPendingOnLoss(Producer):
    """Sends without a receipt fail when the connection ends."""

    breaks = "resend.pending-sends-resent"
    stands_for = "pulsar-rs: pending sends end as disconnected, nothing is sent again"

    def _lost(self) -> None:
        fail_written(self, lambda _op: True)


class ResendsReceipted(Producer):
    """A resend starts one send too early, with the last one that has its receipt."""

    breaks = "resend.keeps-queue-order"
    stands_for = "a send removed from the queue only after the resend had started"

    def _units_to_resend(self) -> list[Op]:
        last = self._receipts.last
        return [*([] if last is None else [last]), *super()._units_to_resend()]


class ResendChangesMetadata(Producer):
    """A resend carries a new publish time and an additional property."""

    breaks = "resend.identical-bytes"
    stands_for = "metadata built again for each write"

    def _units_to_resend(self) -> list[Op]:
        units = super()._units_to_resend()
        for op in units:
            if op.session is not None:
                frame = decode(op.frame)
                assert frame.payload is not None
                metadata = frame.payload.metadata
                metadata.publish_time = self.shared.unix_ms()
                metadata.properties.add(key="resent", value="true")
                op.frame = encode(frame.command, metadata=metadata, data=frame.payload.data)
        return units


class SendsBeforeProducerSuccess(Producer):
    """On a reconnect the resend follows PRODUCER without waiting for its answer."""

    breaks = "resend.waits-for-producer-success"
    stands_for = "a producer considered ready once its connection is"

    def _register(self, connection: Connection) -> None:
        super()._register(connection)
        if self.registrations > 0:
            self._resend()

    def _may_write(self) -> bool:
        return super()._may_write() or (self.phase is Phase.REGISTERING and self.registrations > 0)

    @property
    def _session(self) -> int:
        return self.registrations if self.ready else self.registrations + 1


class ProducerReconnectsAfterClose(Producer):
    """Close during a reconnect leaves the retries of the producer running."""

    breaks = "resend.closed-stays-closed"
    stands_for = (
        "pulsar-client-cpp#518 (for consumers): a producer or consumer closed while it reconnects registers again"
    )

    def _cancel_retry(self) -> None:
        if self.phase is not Phase.WAITING:
            super()._cancel_retry()


class OrphansProducer(Producer):
    """Close while PRODUCER is pending sends the broker nothing."""

    breaks = "resend.closed-stays-closed"
    stands_for = "pulsar-client-cpp#131, apache/pulsar#23853: an orphan producer stays at the broker"

    def _close_unadmitted(self, connection: Connection) -> None:
        pass


class SendNeverTimesOut(Pending):
    """No send ever times out."""

    breaks = "resend.send-timeout"
    stands_for = "DotPulsar: sends have no time-out"

    def due_ns(self, created_ns: int) -> int | None:
        return None


class IdleBatchTimesOut(Batching):
    """The send time-out of a batch runs from the batch before it."""

    breaks = "resend.send-timeout"
    stands_for = "apache/pulsar#21889: a message batched after an idle period times out at once"

    _last_began_ns: int | None = None

    def _first_ns(self) -> int:
        before_ns, self._last_began_ns = self._last_began_ns, self._shared.now_ns
        return super()._first_ns() if before_ns is None else before_ns


class SendTimeoutEndsWithConnection(Pending):
    """After a producer has registered again, none of its sends times out any more."""

    breaks = "resend.send-timeout"
    stands_for = "a sibling of apache/pulsar#16337: a timer's task that ends with the first connection"

    def _arm(self) -> None:
        if self._room.__self__.registrations <= 1:  # type: ignore[attr-defined]
            super()._arm()
        elif self._timer is not None:
            self._timer.cancel()


class SendTimeoutLate(Pending):
    """The send time-out fires late."""

    breaks = "resend.send-timeout"
    stands_for = "a timer that ticks coarsely"
    lateness_ms = 600

    def _age_ns(self) -> int:
        return super()._age_ns() + late_ns(self._shared, SendTimeoutLate)


class CountsReceipts(Receipts):
    count = 0
    """Of the present registration."""

    def _complete(self, head: Op, body: pb.CommandSendReceipt) -> None:
        self.count += 1
        super()._complete(head, body)


class LosesThirdSend(Producer):
    """After a connection that was lost between its second and third receipt, the oldest pending send is not sent
    again."""

    breaks = "resend.pending-sends-resent"
    stands_for = "an artificial bug: it needs three sends and one cut within a window of one frame"
    also = (CountsReceipts,)

    def _resend(self) -> None:
        if self._receipt_count.count == 2:
            head = self._pending.head
            fail_written(self, lambda op: op is head)
        super()._resend()

    def _registered(self, answer: Frame) -> None:
        super()._registered(answer)
        self._receipt_count.count = 0

    @property
    def _receipt_count(self) -> CountsReceipts:
        assert isinstance(self._receipts, CountsReceipts)
        return self._receipts


class WritesNothingAfterTimeout(Producer):
    """Once a send has timed out, later sends are never written."""

    breaks = "resend.sends-after-timeout"
    stands_for = "pulsar-rs#400: the connection counts as broken, and no other one is opened"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._left = self._receipted = 0

    def _may_write(self) -> bool:
        return super()._may_write() and self._left < self._receipted + len(self._pending)

    def _write(self, op: Op) -> None:
        super()._write(op)
        self._left = max(self._left, op.number + 1)

    def receipt(self, body: pb.CommandSendReceipt) -> None:
        waiting = len(self._pending)
        super().receipt(body)
        self._receipted += waiting - len(self._pending)
