"""Brokers that forget or mistake acknowledgments."""

from __future__ import annotations

from collections.abc import Iterable

from assay_conformance.broker import replies
from assay_conformance.broker.cursor_ledger import CursorLedger
from assay_conformance.broker.session import Session
from assay_conformance.broker.subscription import Subscription
from assay_conformance.wire import CommandType, Frame, MessageIdData
from assay_conformance.wire.pulsar_pb2 import CommandAck, ServerError


class CursorNotWrittenOnClose(CursorLedger):
    """An orderly close of a topic does not write its cursors."""

    breaks = "ack.survives-unload"
    stands_for = "a topic closed without waiting for its cursors to be written"

    def close(self) -> None:
        pass


class CursorForgetsIndividualAcks(CursorLedger):
    """When a topic is loaded, only the mark-delete position of its cursors is restored."""

    breaks = "ack.survives-unload"
    stands_for = "only the mark-delete position persisted, without the individually deleted ranges"

    def _restore_acked(self) -> None:
        pass


class CursorFillsHoles(CursorLedger):
    """When a topic is loaded, everything below the last acknowledged entry counts as acknowledged."""

    breaks = "ack.survives-unload"
    stands_for = "the last acknowledged position taken for the mark-delete position when a cursor is recovered"

    def _restore_acked(self) -> None:
        if self._acked:
            self._cursor.ack_up_to(max(self._acked))
        super()._restore_acked()


class AcksNamedMessageOnly(Subscription):
    """An ACK without an ack_set that names a message of a batch acknowledges that message only."""

    breaks = "ack.applies-to-named-messages"
    stands_for = "batch_index read from an ACK that has no ack_set, where it means the whole entry"

    def _unacked_by(self, position: MessageIdData, index: int) -> int:
        unacked = super()._unacked_by(position, index)
        if unacked or position.batch_index < 0:
            return unacked
        return ~(1 << position.batch_index) & ((1 << self._store.entries[index].messages) - 1)


class LastAckSetWins(Subscription):
    """Of several ack_sets for an entry only the last one counts."""

    breaks = "ack.applies-to-named-messages"
    stands_for = "each ack_set of an entry taken for its whole state, not for what it clears"

    def _unacked_by(self, position: MessageIdData, index: int) -> int:
        unacked = super()._unacked_by(position, index)
        if unacked:
            self.cursor.partial.pop(index, None)
        return unacked


class CumulativeAcceptsSeveralIds(Subscription):
    """A cumulative ACK that names several messages is applied with its first one."""

    breaks = "ack.applies-to-named-messages"
    stands_for = "the check for exactly one id in a cumulative ACK missing"

    def _names_one(self, ack: CommandAck) -> bool:
        return True


def has_acked(subscription: Subscription, positions: Iterable[MessageIdData]) -> bool:
    """Return whether one of these is acknowledged."""
    found = (subscription._store.find(position.ledgerId, position.entryId) for position in positions)
    return any(index is not None and subscription.cursor.is_acked(index) for index in found)


class RejectsRepeatedAck(Session):
    """An ACK of an already acknowledged entry is answered with an error."""

    breaks = "ack.repeated-ack-accepted"
    stands_for = "an acknowledgment that changes nothing taken for an error"

    def _serve(self, frame: Frame) -> None:
        body = frame.body
        attached = self.consumers.get(body.consumer_id) if frame.type == CommandType.ACK else None
        if attached is None or not has_acked(attached.subscription, body.message_id):
            super()._serve(frame)
        elif body.HasField("request_id"):
            ids = {"consumer_id": body.consumer_id, "request_id": body.request_id}
            refused = {"error": ServerError.MetadataError, "message": "Not pending"}
            self.send(replies.reply(CommandType.ACK_RESPONSE, **ids, **refused))


class CumulativeAppliedOnShared(Subscription):
    """A cumulative ACK is applied on Shared and Key_Shared subscriptions as well."""

    breaks = "ack.applies-to-named-messages"
    stands_for = "the subscription type not checked before a cumulative ACK is applied"

    @property
    def _is_shared(self) -> bool:
        return False
