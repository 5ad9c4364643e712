"""Clients whose sequence ids defeat deduplication."""

from __future__ import annotations

from assay_conformance.client.numbering import Numbering
from assay_conformance.client.ops import Sent
from assay_conformance.client.producer import Producer
from assay_conformance.client.receipts import Receipts
from assay_conformance.client.values import Failed, Result
from assay_conformance.model.event import ErrorClass, MessageId
from assay_conformance.wire import BaseCommand


class IgnoresLastSequenceId(Numbering):
    """A new producer starts at 0, whatever last sequence id the broker has for its name."""

    breaks = "dedup.resumes-after-last-sequence-id"
    stands_for = "pulsar-rs and DotPulsar: messages of restarted producers are silently dropped as duplicates"

    def start(self, last_sequence_id: int) -> None:
        super().start(last_sequence_id)
        if self._initial is None:
            self._next = 0


class SkipsAfterLastSequenceId(Numbering):
    """A new producer skips one sequence id."""

    breaks = "dedup.resumes-after-last-sequence-id"
    stands_for = "the last id taken for the next one"

    def start(self, last_sequence_id: int) -> None:
        super().start(last_sequence_id)
        if self._initial is None and last_sequence_id >= 0:
            self._next += 1


class RenumbersOnReconnect(Numbering):
    """Every PRODUCER_SUCCESS resets the sequence ids to the broker's last one."""

    breaks = "dedup.reconnect-keeps-numbering"
    stands_for = (
        "C++ client: until its first receipt a producer takes each PRODUCER_SUCCESS for its first (measured on 3.13.0)"
    )

    def registered_again(self, last_sequence_id: int) -> None:
        self._next = last_sequence_id + 1


class FailsDuplicateReceipt(Receipts):
    """A receipt without a position fails the send."""

    breaks = "dedup.duplicate-receipt-completes"
    stands_for = "-1 taken for an error"

    def _result(self, sent: Sent, message_id: MessageId) -> Result:
        if message_id.position == (-1, -1):
            return Failed(ErrorClass.OTHER, "the receipt carries no position")
        return super()._result(sent, message_id)


class PublishesAgainAfterResend(Producer):
    """After a resend the newest pending message is published once more under a new sequence id."""

    breaks = "dedup.effectively-once"
    stands_for = "a retry inside the client, in addition to the resend"

    def _resend(self) -> None:
        units = self._units_to_resend()
        again = any(op.session is not None for op in units)
        super()._resend()
        if again:
            for sent in units[-1].sent:
                self._number(Sent(None, sent.message, -1))


class ReconnectsWithoutName(Producer):
    """A producer reconnects without its name."""

    breaks = "dedup.effectively-once"
    stands_for = "a name that the reconnect loses: the broker does not know the ids that are sent again"

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        if self.registrations:
            built.producer.ClearField("producer_name")
        return built


class BatchesOldAndNewIds(Numbering):
    """A message with an old sequence id is batched with new ones."""

    breaks = "dedup.old-and-new-ids-in-separate-batches"
    stands_for = (
        "C++ and Go clients (read in their source): with deduplication the new ones are dropped and reported as sent"
    )

    def goes_back(self, sequence_id: int) -> bool:
        return False
