"""What the broker answers to sends: receipts, and errors of one send or of the whole producer.

Receipts come in order: one for an older unit is late and ignored, one beyond the oldest says that something was lost,
so the connection is closed and the queue goes out again.
"""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.client.mutations import Mutation
from assay_conformance.client.numbering import Numbering
from assay_conformance.client.ops import Op
from assay_conformance.client.pending import Pending
from assay_conformance.client.refusal import Refusal, server_refusal
from assay_conformance.client.shared import Shared
from assay_conformance.client.values import Done, Failed, Result
from assay_conformance.model.event import ErrorClass, MessageId
from assay_conformance.wire import NO_ID
from assay_conformance.wire import pulsar_pb2 as pb

_ERRORS_OF_ONE_SEND = frozenset({pb.NotAllowedError})
_FINAL_ERRORS = frozenset({pb.TopicTerminatedError, pb.ProducerFenced})

_WRONGLY_JUDGED: dict[int, Mutation] = {
    pb.ChecksumError: Mutation.FAILS_SPOILT_ON_THE_WAY,
    pb.PersistenceError: Mutation.SURFACES_TRANSIENT_ERROR,
    pb.NotAllowedError: Mutation.RESENDS_NOT_ALLOWED,
    pb.TopicTerminatedError: Mutation.RETRIES_TERMINATED,
}


class Receipts:
    """`reconnect` has everything pending go out again, and says why; `finish` ends the producer for good.

    `last` is the last unit with a receipt, and `count` how many receipts this registration has had.
    """

    def __init__(
        self,
        shared: Shared,
        pending: Pending,
        numbering: Numbering,
        partition: int,
        reconnect: Callable[[str], None],
        finish: Callable[[Refusal], None],
    ) -> None:
        self.last: Op | None = None
        self.count = 0
        self._shared = shared
        self._pending = pending
        self._numbering = numbering
        self._partition = partition
        self._reconnect = reconnect
        self._finish = finish
        self._last_position: tuple[int, int] | None = None
        self._deaf = False
        self._first_chunk: pb.MessageIdData | None = None

    def receipt(self, body: pb.CommandSendReceipt) -> None:
        head = self._pending.head
        if head is None or self._deaf:
            return
        position = (body.message_id.ledgerId, body.message_id.entryId)
        if body.sequence_id < head.sequence_id:
            if not self._shared.mutated(Mutation.LATE_RECEIPT_COMPLETES_HEAD):
                return
        elif body.sequence_id > head.sequence_id:
            if not self._shared.mutated(Mutation.IGNORES_HIGHER_RECEIPT):
                self._reconnect(f"receipt for {body.sequence_id}, the oldest pending is {head.sequence_id}")
            return
        elif position == self._last_position and NO_ID not in position and self._is_of_last(head):
            # Chunks share a sequence id: one receipt that comes twice must not stand for two of them.
            return
        elif self._is_of_another(head, body) and not self._shared.mutated(Mutation.TAKES_ANY_HIGHEST_ID):
            self._reconnect(f"receipt up to {body.highest_sequence_id}, the oldest pending goes up to {head.highest}")
            return
        self.count += 1
        self.last = self._pending.pop_head()
        self._last_position = position
        self._succeed(head, self._told(head, body.message_id))
        self._pending.settled()

    def _is_of_another(self, head: Op, body: pb.CommandSendReceipt) -> bool:
        """Whether it names the highest id of another batch. For a SEND that told none a broker answers NO_ID."""
        return body.sequence_id < body.highest_sequence_id != NO_ID and body.highest_sequence_id != head.highest

    def _told(self, op: Op, message_id: pb.MessageIdData) -> pb.MessageIdData:
        """The id the application gets: a chunked message goes by that of its last chunk."""
        if op.part_of is None or not self._shared.mutated(Mutation.SENT_ID_OF_FIRST_CHUNK):
            first, self._first_chunk = self._first_chunk, None
            return first or message_id
        self._first_chunk = self._first_chunk or message_id
        return message_id

    def _is_of_last(self, head: Op) -> bool:
        """Whether it is a further chunk of the unit receipted last. What is not stored has one position for all."""
        return self.last is not None and self.last.sequence_id == head.sequence_id

    def error(self, body: pb.CommandSendError) -> None:
        refusal = server_refusal(body.error, body.message)
        if self._retries(body.error):
            # Transient, a checksum spoilt on the way included: the bytes kept here are what was meant.
            self._reconnect(refusal.text)
        elif body.error in _FINAL_ERRORS:
            self._finish(refusal)
        else:
            self._deaf = self._shared.mutated(Mutation.DEAF_AFTER_NOT_ALLOWED)
            for op in self._pending.take(lambda op: op.sequence_id == body.sequence_id):
                self._pending.release(op.sent, refusal.failed(certain=True))
            self._pending.settled()

    def _retries(self, code: int) -> bool:
        cheat = _WRONGLY_JUDGED.get(code)
        retried = code not in _ERRORS_OF_ONE_SEND | _FINAL_ERRORS
        return retried != (cheat is not None and self._shared.mutated(cheat))

    def _succeed(self, op: Op, message_id: pb.MessageIdData) -> None:
        duplicate = message_id.ledgerId == NO_ID
        position = (-1, -1) if duplicate else (message_id.ledgerId, message_id.entryId)
        first = 1 if self._shared.mutated(Mutation.BATCH_INDEX_FROM_ONE) else 0
        for index, sent in enumerate(op.sent, start=first):
            self._numbering.receipted(sent.sequence_id)
            place = (index, len(op.sent)) if op.batch else (-1, 0)
            result: Result = Done(
                message_id=MessageId(*position, self._partition, *place), sequence_id=sent.sequence_id
            )
            if duplicate and self._shared.mutated(Mutation.FAILS_DUPLICATE_RECEIPT):
                result = Failed(ErrorClass.OTHER, "the receipt carries no position")
            self._pending.release((sent,), result)
