"""The producer of one topic or partition: taking sends in order, writing them, and writing them again.

A unit is written at once when the broker has admitted the producer, and again, the same bytes in the same order, after
every later PRODUCER_SUCCESS, until its receipt comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from assay_conformance.client.batch import Batching
from assay_conformance.client.connection import Connection
from assay_conformance.client.handler import Handler, Phase
from assay_conformance.client.lookup import Lookup, Pool
from assay_conformance.client.numbering import Numbering
from assay_conformance.client.ops import ACCESS_MODES, Op, OpBuilder, Sent, TooLargeError
from assay_conformance.client.pending import Pending
from assay_conformance.client.receipts import Receipts
from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.client.registering import state_producer
from assay_conformance.client.schemas import stated_schema
from assay_conformance.client.settings import BatchingType, ProducerSettings
from assay_conformance.client.shared import Shared
from assay_conformance.client.values import Done, Failed, Outgoing, Result
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import BaseCommand, CommandType, Frame, command, without_checksum
from assay_conformance.wire import pulsar_pb2 as pb

CHECKSUM_SINCE = 6
"""The protocol version that brought the checksum of a SEND."""

_CLOSED = Failed(ErrorClass.CLOSED, "the producer is closed", certain=True)

Completed = Callable[[Result], None]


class Producer(Handler):
    """`opened` is called once, with the name and last sequence id the broker gave, or with why it never opened.

    Sends, flushes and the close that come before that wait for it, in order. `first_subscription` is to be there, and
    to keep what is sent, before the first send (PIP-124).
    """

    def __init__(
        self,
        shared: Shared,
        pool: Pool,
        lookup: Lookup,
        topic: str,
        settings: ProducerSettings,
        opened: Completed,
        partition: int = -1,
        first_subscription: str | None = None,
    ) -> None:
        super().__init__(shared, pool, lookup, topic)
        self._first_subscription = first_subscription
        self._settings = settings
        self._opened: Completed | None = opened
        self._producer_id = next(shared.producer_ids)
        self._builder = shared.implementation(OpBuilder)(self._producer_id, settings)
        self._end = _CLOSED
        """What a send gets that comes too late."""
        self._epoch = 0
        self._topic_epoch: int | None = None
        self._max_message_bytes = 0
        self._numbering = shared.implementation(Numbering)(settings)
        self._waiting: deque[Callable[[], bool]] = deque()
        self._running = False
        self._pending = shared.implementation(Pending)(shared, settings, self._run_waiting)
        self._batching = shared.implementation(Batching)(shared, settings, self._pending, self._batch, self._enqueue)
        self._receipts = shared.implementation(Receipts)(
            self._pending, self._numbering, partition, self._reconnect, self._finish
        )

    @property
    def last_sequence_id(self) -> int:
        return self._numbering.last_receipted

    # --- from the application ---

    def send(self, op: int, message: Outgoing, *, sync: bool = False) -> None:
        """Send a message. A synchronous send closes the open batch: the caller waits, and can add no message to it."""
        self._in_order(
            lambda: self._accept_sync(Sent(op, message, -1)) if sync else self._accept(Sent(op, message, -1))
        )

    def flush(self, flushed: Completed) -> None:
        """Call `flushed` when everything sent before has ended."""
        self._in_order(lambda: self._flush(flushed))

    def close(self, closed: Completed) -> None:
        """Send what is batched, close at the broker, then fail what has no receipt. Blocked sends fail at once."""
        if self._opened is not None:
            self._waiting.append(lambda: self._close(closed))
        else:
            self._close(closed)

    def _in_order(self, action: Callable[[], bool]) -> None:
        self._waiting.append(action)
        self._run_waiting()

    def _run_waiting(self) -> None:
        """Run what waits, as far as the opening and the room in the queue allow.

        One that makes room leaves it to later ones, when it has ended itself.
        """
        if self._running:
            return
        self._running = True
        while self._waiting and self._opened is None:
            action = self._waiting.popleft()
            if not action():
                self._waiting.appendleft(action)
                break
        self._running = False

    # --- sending ---

    def _accept(self, sent: Sent) -> bool:
        """Take one send; False while it has to wait for room."""
        if self.phase in (Phase.CLOSING, Phase.CLOSED):
            self._pending.complete(sent, self._end)
            return True
        why_full = self._pending.why_full() or self._number(sent)
        if why_full is None:
            return True
        if self._settings.block_if_queue_full:
            return False
        self._refuse(sent, why_full)
        return True

    def _refuse(self, sent: Sent, why_full: str) -> None:
        self._pending.refused(sent, Failed(ErrorClass.QUEUE_FULL, why_full, certain=True))

    def _accept_sync(self, sent: Sent) -> bool:
        if not self._accept(sent):
            return False
        self._batching.close()
        return True

    def _number(self, sent: Sent) -> str | None:
        """Give a send its number and take it in; return why its chunks have no room now, or None."""
        sent.sequence_id = self._numbering.of(sent.message)
        alone = (
            not self._settings.batching
            or self._waits_for_its_time(sent)
            # Batched with new messages, one the broker may know already would take them with it as duplicates.
            or self._numbering.goes_back(sent.sequence_id)
        )
        if alone:
            self._close_batch_before(sent)
        try:
            ops = self._alone(sent) if alone else []
            places = self._places(ops)
            why_full = self._why_no_room(places) if places > 1 else None
        except TooLargeError as error:
            self._too_large(sent, str(error))
            return None
        if why_full is not None:
            return why_full
        self._numbering.take(sent.sequence_id)
        self._pending.accept(sent, places)
        if alone:
            self._enqueue(ops)
        else:
            self._batching.add(sent)
        return None

    def _waits_for_its_time(self, sent: Sent) -> bool:
        """Return whether the message is delayed: a batch would carry one time for all its messages (PIP-26)."""
        return sent.message.deliver_at_ms is not None

    def _close_batch_before(self, sent: Sent) -> None:
        """Close the open batch, so that a message sent alone leaves after those sent before it."""
        del sent
        self._batching.close()

    def _too_large(self, sent: Sent, text: str) -> None:
        self._pending.complete(sent, Failed(ErrorClass.TOO_LARGE, text, certain=True))

    def _why_no_room(self, chunks: int) -> str | None:
        """Return why so many chunks must wait. TooLargeError where they would wait for ever."""
        limit = self._settings.max_pending_messages
        if self._settings.block_if_queue_full and 0 < limit < chunks:
            raise TooLargeError(f"message of {chunks} chunks, max_pending_messages is {limit}")
        return self._pending.why_full(chunks)

    def _places(self, ops: Sequence[Op]) -> int:
        """Return how many places a message takes in the queue: one, or one for each of its chunks."""
        return max(1, len(ops))

    def _alone(self, sent: Sent) -> list[Op]:
        return self._builder.message(sent, self._limit(), self.shared.now_ns, self.shared.unix_ms())

    def _batch(self, group: Sequence[Sent], first_ns: int) -> Op:
        keyed = self._settings.batching_type is BatchingType.KEY_BASED
        build = self._builder.keyed_batch if keyed else self._builder.batch
        return build(group, self._limit(), first_ns, self.shared.unix_ms())

    def _limit(self) -> int:
        return self._max_message_bytes

    def _enqueue(self, ops: Sequence[Op]) -> None:
        for op in ops:
            self._pending.add(op)
            if self._may_write():
                self._write(op)

    def _may_write(self) -> bool:
        return self.ready

    @property
    def _session(self) -> int:
        """The registration that what is written now belongs to."""
        return self.registrations

    def _write(self, op: Op) -> None:
        assert self.connection is not None
        op.session = self._session
        self.connection.write(self._frame_for(self.connection.version, op))

    def _frame_for(self, version: int, op: Op) -> bytes:
        """Return the frame of a unit as a broker of this protocol version can read it."""
        return without_checksum(op.frame) if version < CHECKSUM_SINCE else op.frame

    # --- flush and close ---

    def _flush(self, flushed: Completed) -> bool:
        if self.phase is Phase.CLOSED:
            flushed(_CLOSED)
            return True
        self._flush_all(flushed)
        return True

    def _flush_all(self, flushed: Completed) -> None:
        self._batching.close()
        self._pending.flush(flushed)

    def _close(self, closed: Completed) -> bool:
        if self.phase in (Phase.CLOSING, Phase.CLOSED):
            closed(Done())
            return True
        # A batch that is too large leaves room, and a blocked send would open the next one, which nothing closes.
        running, self._running = self._running, True
        self._batching.close()
        self._running = running

        def left(refusal: Refusal | None) -> None:
            self._fail_unreceipted()
            closed(self._end_of_leaving(refusal))

        self.leave(left)
        self._run_waiting()
        return True

    def _fail_unreceipted(self) -> None:
        """Fail the sends that have no receipt when the close is answered; they may or may not be stored."""
        self._fail_all(ErrorClass.CLOSED, "the producer was closed")

    # --- from the broker ---

    def receipt(self, body: pb.CommandSendReceipt) -> None:
        self._receipts.receipt(body)

    def send_error(self, body: pb.CommandSendError) -> None:
        self._receipts.error(body)

    def _reconnect(self, why: str) -> None:
        assert self.connection is not None
        self.connection.close(Cause.LOST, why)

    # --- the life of a handler ---

    def _registration(self, request_id: int) -> BaseCommand:
        settings = self._settings
        built = command(
            CommandType.PRODUCER,
            topic=self.topic,
            producer_id=self._producer_id,
            request_id=request_id,
            epoch=self._epoch,
            user_provided_producer_name=settings.producer_name is not None,
            producer_access_mode=ACCESS_MODES[settings.access_mode],
        )
        # A broker that admitted this attempt and whose answer is lost must see that the next one is later.
        self._epoch += 1
        name = self._builder.name or settings.producer_name
        if name:
            built.producer.producer_name = name
        if self._first_subscription is not None:
            built.producer.initial_subscription_name = self._first_subscription
        if self._topic_epoch is not None:
            built.producer.topic_epoch = self._topic_epoch
        state_producer(built.producer, settings)
        if (schema := self._stated_schema()) is not None:
            built.producer.schema.CopyFrom(schema)
        return built

    def _stated_schema(self) -> pb.Schema | None:
        return stated_schema(self._settings)

    def _closure(self, request_id: int) -> BaseCommand:
        return command(CommandType.CLOSE_PRODUCER, producer_id=self._producer_id, request_id=request_id)

    def _enlist(self, connection: Connection) -> None:
        connection.producers[self._producer_id] = self

    def _delist(self, connection: Connection) -> None:
        connection.producers.pop(self._producer_id, None)

    def _registered(self, answer: Frame) -> None:
        assert self.connection is not None
        body = answer.body
        self._max_message_bytes = self.connection.max_message_bytes
        self._builder.name = body.producer_name
        self._builder.schema_version = self._version_in(body)
        if body.HasField("topic_epoch"):
            self._topic_epoch = body.topic_epoch
        if self._opened is not None:
            self._numbering.start(body.last_sequence_id)
            opened, self._opened = self._opened, None
            opened(self._is_open(body.producer_name, body.last_sequence_id))
        else:
            self._numbering.registered_again(body.last_sequence_id)
            self._resend()
        self._run_waiting()

    def _version_in(self, body: pb.CommandProducerSuccess) -> bytes:
        """Return the schema version that messages of this producer carry; empty where it has no schema."""
        return body.schema_version

    def _is_open(self, producer_name: str, last_sequence_id: int) -> Done:
        """Return what the application gets as the result of opening its producer."""
        return Done(producer_name=producer_name, last_sequence_id=last_sequence_id)

    def _resend(self) -> None:
        """Send everything pending again, from the oldest, each with the same bytes as before."""
        for op in self._units_to_resend():
            self._write(op)

    def _units_to_resend(self) -> list[Op]:
        return [op for op in self._pending if op.session != self._session]

    def _turned_away(self, refusal: Refusal) -> None:
        if refusal.code == pb.ProducerBlockedQuotaExceededException and self._opened is None:
            self._fail_all(refusal.error, refusal.text)

    def _lost(self) -> None:
        """Keep what has no receipt; it is sent again after the next registration."""

    def _ended(self, refusal: Refusal) -> None:
        self._batching.close()
        self._fail_all(refusal.error, refusal.text)
        if self._opened is not None:
            opened, self._opened = self._opened, None
            if self._settings.lazy_start_partitioned_producers:
                # Its open call is over, and what waits for it is all that can say why.
                self._end = refusal.failed(certain=True)
            opened(refusal.failed(certain=refusal.cause is Cause.SERVER))
        self._run_waiting()

    def _fail_all(self, error: ErrorClass, text: str) -> None:
        self._pending.fail(self._pending.take(lambda _op: True), error, text)
        self._pending.settled()
