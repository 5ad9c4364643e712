"""Clients that mistake receipts and errors of sends."""

from __future__ import annotations

from assay_conformance.client.handler import Handler
from assay_conformance.client.ops import Op
from assay_conformance.client.producer import Producer
from assay_conformance.client.receipts import Receipts
from assay_conformance.client.refusal import Refusal
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import pulsar_pb2 as pb


class StaleReceiptCompletesHead(Receipts):
    """A receipt for an older send completes the oldest pending one."""

    breaks = "resend.ignores-stale-receipt"
    stands_for = "pulsar-client-go#774: receipt comparison the wrong way round"

    def _late(self, head: Op, body: pb.CommandSendReceipt) -> None:
        self._complete(head, body)


class IgnoresReceiptAhead(Receipts):
    """A receipt beyond the oldest pending send is ignored."""

    breaks = "resend.receipt-ahead-closes-connection"
    stands_for = "pulsar-client-go#774: receipt comparison the wrong way round, the producer is stuck"

    def _ahead(self, head: Op, body: pb.CommandSendReceipt) -> None:
        pass


class TerminatedWithGenericError(Producer):
    """Pending sends to a terminated topic fail with an error that does not say that it was terminated."""

    breaks = "resend.terminated-fails-all"
    stands_for = "an error code without an exception of its own"

    def _fail_all(self, error: ErrorClass, text: str) -> None:
        super()._fail_all(ErrorClass.OTHER if error is ErrorClass.TERMINATED else error, text)


class FailsOnChecksumError(Receipts):
    """A send answered ChecksumError fails without a check of its own bytes."""

    breaks = "resend.checksum-error-resent"
    stands_for = "C++ client (read in its source): removeCorruptMessage takes the head off the queue"

    def _retries(self, code: int) -> bool:
        return code != pb.ChecksumError and super()._retries(code)


class SurfacesTransientError(Receipts):
    """A send answered PersistenceError fails."""

    breaks = "resend.retries-transient-error"
    stands_for = "pulsar-rs: every SEND_ERROR ends its send; DotPulsar: it ends the producer"

    def _retries(self, code: int) -> bool:
        return code != pb.PersistenceError and super()._retries(code)


class ResendsNotAllowed(Receipts):
    """A send answered NotAllowedError is sent again."""

    breaks = "resend.not-allowed-fails-one"
    stands_for = "C++ client: reconnects and sends it again until the time-out, in front of all others"

    def _retries(self, code: int) -> bool:
        return code == pb.NotAllowedError or super()._retries(code)


class IgnoresReceiptsAfterNotAllowed(Receipts):
    """A send answered NotAllowedError fails, and later receipts are ignored."""

    breaks = "resend.not-allowed-fails-one"
    stands_for = "Go client: the connection forgets the producer over that error, and drops its receipts"

    _deaf = False

    def receipt(self, body: pb.CommandSendReceipt) -> None:
        if not self._deaf:
            super().receipt(body)

    def _fail_one(self, sequence_id: int, refusal: Refusal) -> None:
        self._deaf = True
        super()._fail_one(sequence_id, refusal)


class ResendsTerminated(Receipts):
    def _retries(self, code: int) -> bool:
        return code == pb.TopicTerminatedError or super()._retries(code)


class RetriesTerminated(Handler):
    """A producer keeps trying to register on a terminated topic."""

    breaks = "resend.terminated-fails-all"
    stands_for = "pulsar-client-cpp#567, pulsar-client-go#1128: retried until the time-out"
    also = (ResendsTerminated,)

    def _is_final(self, refusal: Refusal) -> bool:
        return refusal.code != pb.TopicTerminatedError and super()._is_final(refusal)


class QuotaExceededKeepsPending(Producer):
    """Pending sends stay pending when the broker answers that the backlog quota is exceeded."""

    breaks = "resend.quota-exceeded-fails-pending"
    stands_for = "the two quota errors taken for one"

    def _turned_away(self, refusal: Refusal) -> None:
        pass


class AcceptsAnyHighestId(Receipts):
    """A receipt with another highest sequence id than the oldest batch completes that batch."""

    breaks = "resend.checks-highest-sequence-id"
    stands_for = "all clients but the Java one: the highest id of a receipt is not checked"

    def _is_of_another(self, head: Op, body: pb.CommandSendReceipt) -> bool:
        return False
