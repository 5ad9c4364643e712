"""What the broker answers to sends: receipts, and errors of one send or of the whole producer.

Receipts come in order: one for an older unit is late and ignored, one beyond the oldest says that something was lost,
so the connection is closed and the queue goes out again.
"""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.client.numbering import Numbering
from assay_conformance.client.ops import Op, Sent
from assay_conformance.client.pending import Pending
from assay_conformance.client.refusal import Refusal, server_refusal
from assay_conformance.client.values import Done, Result
from assay_conformance.model.event import MessageId
from assay_conformance.wire import NO_ID
from assay_conformance.wire import pulsar_pb2 as pb

_ERRORS_OF_ONE_SEND = frozenset({pb.NotAllowedError})
_FINAL_ERRORS = frozenset({pb.TopicTerminatedError, pb.ProducerFenced})


class Receipts:
    """`reconnect` has everything pending go out again, and says why; `finish` ends the producer for good.

    `last` is the last unit with a receipt.
    """

    def __init__(
        self,
        pending: Pending,
        numbering: Numbering,
        partition: int,
        reconnect: Callable[[str], None],
        finish: Callable[[Refusal], None],
    ) -> None:
        self.last: Op | None = None
        self._pending = pending
        self._numbering = numbering
        self._partition = partition
        self._reconnect = reconnect
        self._finish = finish
        self._last_position: tuple[int, int] | None = None

    def receipt(self, body: pb.CommandSendReceipt) -> None:
        head = self._pending.head
        if head is None:
            return
        position = (body.message_id.ledgerId, body.message_id.entryId)
        if body.sequence_id < head.sequence_id:
            self._late(head, body)
        elif body.sequence_id > head.sequence_id:
            self._ahead(head, body)
        elif position == self._last_position and NO_ID not in position and self._is_of_last(head):
            # Chunks share a sequence id: one receipt that comes twice must not stand for two of them.
            return
        elif self._is_of_another(head, body):
            self._reconnect(f"receipt up to {body.highest_sequence_id}, the oldest pending goes up to {head.highest}")
        else:
            self._complete(head, body)

    def _late(self, head: Op, body: pb.CommandSendReceipt) -> None:
        """Ignore a receipt for a unit that has its receipt already."""

    def _ahead(self, head: Op, body: pb.CommandSendReceipt) -> None:
        """Reconnect after a receipt beyond the oldest pending unit: a receipt or a send was lost."""
        self._reconnect(f"receipt for {body.sequence_id}, the oldest pending is {head.sequence_id}")

    def _complete(self, head: Op, body: pb.CommandSendReceipt) -> None:
        self.last = self._pending.pop_head()
        self._last_position = (body.message_id.ledgerId, body.message_id.entryId)
        self._succeed(head, self._reported_id(head, body.message_id))
        self._pending.settled()

    def _is_of_another(self, head: Op, body: pb.CommandSendReceipt) -> bool:
        """Return whether it names the highest id of another batch. To a SEND without one a broker answers NO_ID."""
        return body.sequence_id < body.highest_sequence_id != NO_ID and body.highest_sequence_id != head.highest

    def _reported_id(self, op: Op, message_id: pb.MessageIdData) -> pb.MessageIdData:
        """Return the id that the application gets; for a chunked message, that of its last chunk."""
        del op
        return message_id

    def _is_of_last(self, head: Op) -> bool:
        """Return whether a further chunk of the last unit is meant: what is not stored has one position."""
        return self.last is not None and self.last.sequence_id == head.sequence_id

    def error(self, body: pb.CommandSendError) -> None:
        refusal = server_refusal(body.error, body.message)
        if self._retries(body.error):
            # Transient, a checksum spoilt on the way included: the bytes kept here are what was meant.
            self._reconnect(refusal.text)
        elif body.error in _FINAL_ERRORS:
            self._finish(refusal)
        else:
            self._fail_one(body.sequence_id, refusal)

    def _retries(self, code: int) -> bool:
        return code not in _ERRORS_OF_ONE_SEND | _FINAL_ERRORS

    def _fail_one(self, sequence_id: int, refusal: Refusal) -> None:
        for op in self._pending.take(lambda op: op.sequence_id == sequence_id):
            self._pending.release(op.sent, refusal.failed(certain=True))
        self._pending.settled()

    def _succeed(self, op: Op, message_id: pb.MessageIdData) -> None:
        duplicate = message_id.ledgerId == NO_ID
        position = (-1, -1) if duplicate else (message_id.ledgerId, message_id.entryId)
        for index, sent in enumerate(op.sent):
            self._numbering.receipted(sent.sequence_id)
            place = self._place(op, index)
            self._pending.release((sent,), self._result(sent, MessageId(*position, self._partition, *place)))

    def _place(self, op: Op, index: int) -> tuple[int, int]:
        """Return index and size of a message in its batch, as a message id has them."""
        return (index, len(op.sent)) if op.batch else (-1, 0)

    def _result(self, sent: Sent, message_id: MessageId) -> Result:
        """Return the result of a send. The receipt of a duplicate names no position, and yet the send succeeded."""
        return Done(message_id=message_id, sequence_id=sent.sequence_id)
