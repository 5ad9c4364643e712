"""The producer of one topic or partition: numbering, the pending queue, resend, receipts and time-outs.

Every unit without a receipt stands in one queue, oldest first, and leaves it by its receipt, its time-out or the
producer's end. Written at once when the broker has admitted the producer, it is written again, the same bytes in the
same order, after every later PRODUCER_SUCCESS. Receipts come in order: one for an older unit is late and ignored, one
beyond the head says that something was lost, so the connection is closed and the queue goes out again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from assay_conformance.client.batch import OpenBatch
from assay_conformance.client.connection import Connection
from assay_conformance.client.handler import Handler, Phase
from assay_conformance.client.lookup import Lookup, Pool
from assay_conformance.client.mutations import Mutation
from assay_conformance.client.ops import ACCESS_MODES, Op, OpBuilder, Sent, TooLargeError, restamp, swap_payloads
from assay_conformance.client.refusal import Cause, Refusal, server_refusal
from assay_conformance.client.settings import BatchingType, ProducerSettings
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer
from assay_conformance.client.values import Done, Failed, Outgoing, Result
from assay_conformance.model.event import ErrorClass, MessageId
from assay_conformance.wire import NO_ID, BaseCommand, CommandType, Frame, command
from assay_conformance.wire import pulsar_pb2 as pb

_CLOSED = Failed(ErrorClass.CLOSED, "the producer is closed", certain=True)
_SEND_ERRORS_OF_ONE_SEND = frozenset({pb.NotAllowedError})
_SEND_ERRORS_FINAL = frozenset({pb.TopicTerminatedError, pb.ProducerFenced})
_PASSED_BY_NS = 20 * MS

Completed = Callable[[Result], None]


class Producer(Handler):
    """`opened` is called once, with the name and last sequence id the broker gave, or with why it never opened.

    Sends, flushes and the close that come before that wait for it, in order.
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
    ) -> None:
        super().__init__(shared, pool, lookup, topic)
        self.last_sequence_id = -1
        self._settings = settings
        self._partition = partition
        self._opened: Completed | None = opened
        self._producer_id = next(shared.producer_ids)
        self._builder = OpBuilder(
            self._producer_id, settings, flag_chunks=not shared.mutated(Mutation.OMITS_CHUNK_FLAG)
        )
        self._topic_epoch: int | None = None
        self._max_message_bytes = 0
        self._next_sequence_id = 0
        self._last_pushed = -1
        self._waiting: deque[Callable[[], bool]] = deque()
        self._pending: deque[Op] = deque()
        self._messages = 0
        self._units = 0
        self._batch: OpenBatch | None = None
        self._flushes: deque[tuple[int, Completed]] = deque()
        self._timeout: Timer | None = None
        self._last_receipted: Op | None = None
        self._receipts = 0
        shared.memory_waiters.append(self._run_waiting)

    # --- from the application ---

    def send(self, op: int, message: Outgoing) -> None:
        self._in_order(lambda: self._accept(Sent(op, message, -1)))

    def flush(self, flushed: Completed) -> None:
        """`flushed` is called when everything sent before has ended."""
        self._in_order(lambda: self._flush(flushed))

    def close(self, closed: Completed) -> None:
        """Send what is batched, close at the broker, then fail what has no receipt."""
        if self._opened is not None:
            self._waiting.append(lambda: self._close(closed))
            return
        self._close(closed)

    def _in_order(self, action: Callable[[], bool]) -> None:
        self._waiting.append(action)
        self._run_waiting()

    def _run_waiting(self) -> None:
        """Run what waits, as far as the opening and the room in the queue allow."""
        while self._waiting and self._opened is None:
            action = self._waiting.popleft()
            if not action():
                self._waiting.appendleft(action)
                return

    # --- sending ---

    def _accept(self, sent: Sent) -> bool:
        """Take one send; False while it has to wait for room."""
        if self.phase in (Phase.CLOSING, Phase.CLOSED):
            self._complete(sent, _CLOSED)
        elif self._full():
            if self._settings.block_if_queue_full:
                return False
            text = f"{self._messages} messages and {self.shared.memory_bytes} bytes wait for receipts"
            self._complete(sent, Failed(ErrorClass.QUEUE_FULL, text, certain=True))
        else:
            self._number(sent)
        return True

    def _full(self) -> bool:
        limit = self._settings.max_pending_messages
        memory = self.shared.settings.memory_limit_bytes
        # One message may cross the memory limit, or one larger than it could never be sent (PIP-74).
        return 0 < limit <= self._messages or 0 < memory <= self.shared.memory_bytes

    def _number(self, sent: Sent) -> None:
        explicit = sent.message.sequence_id
        sent.sequence_id = self._next_sequence_id if explicit is None else explicit
        alone = (
            not self._settings.batching
            or sent.message.deliver_at_ms is not None
            # Batched with new messages, one the broker may know already would take them with it as duplicates.
            or sent.sequence_id <= self._last_pushed
        )
        if alone:
            self._close_batch()
        try:
            ops = self._build_alone(sent) if alone else []
        except TooLargeError as error:
            self._complete(sent, Failed(ErrorClass.TOO_LARGE, str(error), certain=True))
            return
        self._next_sequence_id = max(self._next_sequence_id, sent.sequence_id + 1)
        self._last_pushed = max(self._last_pushed, sent.sequence_id)
        self._messages += 1
        self.shared.memory_bytes += len(sent.message.payload)
        if alone:
            for op in ops:
                self._enqueue(op)
        else:
            self._add_to_batch(sent)

    def _build_alone(self, sent: Sent) -> list[Op]:
        return self._builder.message(sent, self._max_message_bytes, self.shared.now_ns, self.shared.unix_ms())

    def _enqueue(self, op: Op) -> None:
        op.number = self._units
        self._units += 1
        self._pending.append(op)
        if self._may_write():
            self._write(op)
        self._arm_timeout()

    def _may_write(self) -> bool:
        if self.phase is Phase.REGISTERING and self.registrations > 0:
            return self.shared.mutated(Mutation.SENDS_BEFORE_SUCCESS)
        return self.ready

    def _write(self, op: Op) -> None:
        assert self.connection is not None
        op.session = self.registrations if self.ready else self.registrations + 1
        self.connection.write(op.frame)

    # --- batching ---

    def _add_to_batch(self, sent: Sent) -> None:
        if self._batch is not None and not self._batch.fits(len(sent.message.payload)):
            self._close_batch()
        if self._batch is None:
            self._batch = self._open_batch()
        self._batch.add(sent)
        if self._batch.full:
            self._close_batch()

    def _open_batch(self) -> OpenBatch:
        settings, shared = self._settings, self.shared
        extra = 1 if shared.mutated(Mutation.BATCH_OVERFILLS) else 0
        max_bytes = None if shared.mutated(Mutation.BATCH_IGNORES_BYTES) else settings.batching_max_bytes
        batch = OpenBatch(settings, shared.now_ns, settings.batching_max_messages + extra, max_bytes)
        delay_ns = settings.batching_max_publish_delay_ms * MS + shared.lateness_ns(Mutation.BATCH_DELAY_LATE)
        batch.timer = shared.after(delay_ns, self._close_batch)
        return batch

    def _close_batch(self) -> None:
        batch, self._batch = self._batch, None
        if batch is None:
            return
        assert batch.timer is not None
        batch.timer.cancel()
        keyed = self._settings.batching_type is BatchingType.KEY_BASED
        build = self._builder.keyed_batch if keyed else self._builder.batch
        for group in batch.groups():
            try:
                op = build(group, self._max_message_bytes, batch.first_ns, self.shared.unix_ms())
            except TooLargeError as error:
                self._release(group, Failed(ErrorClass.TOO_LARGE, str(error), certain=True))
            else:
                self._enqueue(op)

    # --- flush and close ---

    def _flush(self, flushed: Completed) -> bool:
        if self.phase is Phase.CLOSED:
            flushed(_CLOSED)
            return True
        self._close_batch()
        self._flushes.append((self._units, flushed))
        self._finish_flushes()
        return True

    def _finish_flushes(self) -> None:
        oldest = self._pending[0].number if self._pending else self._units
        while self._flushes and self._flushes[0][0] <= oldest:
            self._flushes.popleft()[1](Done())

    def _close(self, closed: Completed) -> bool:
        if self.phase in (Phase.CLOSING, Phase.CLOSED):
            closed(Done())
            return True
        self._close_batch()

        def left(refusal: Refusal | None) -> None:
            # The broker answers after the receipts: what has none now may or may not be stored.
            del refusal
            self._fail_all(ErrorClass.CLOSED, "the producer was closed")
            closed(Done())

        self.leave(left)
        self._run_waiting()
        return True

    # --- receipts ---

    def receipt(self, body: pb.CommandSendReceipt) -> None:
        if not self._pending:
            return
        head = self._pending[0]
        if body.sequence_id < head.sequence_id:
            if not self.shared.mutated(Mutation.LATE_RECEIPT_COMPLETES_HEAD):
                return
        elif body.sequence_id > head.sequence_id:
            if not self.shared.mutated(Mutation.IGNORES_HIGHER_RECEIPT):
                self._reconnect(f"receipt for {body.sequence_id}, the oldest pending is {head.sequence_id}")
            return
        self._receipts += 1
        self._last_receipted = head
        self._pending.popleft()
        self._succeed(head, body.message_id)
        self._settled()

    def send_error(self, body: pb.CommandSendError) -> None:
        refusal = server_refusal(body.error, body.message)
        if body.error in _SEND_ERRORS_FINAL:
            self._finish(refusal)
        elif body.error in _SEND_ERRORS_OF_ONE_SEND:
            refused = [op for op in self._pending if op.sequence_id == body.sequence_id]
            self._pending = deque(op for op in self._pending if op.sequence_id != body.sequence_id)
            for op in refused:
                self._release(op.sent, refusal.failed(certain=True))
            self._settled()
        else:
            # Transient, a checksum spoilt on the way included: the bytes kept here are what was meant.
            self._reconnect(refusal.text)

    def _reconnect(self, why: str) -> None:
        assert self.connection is not None
        self.connection.close(Cause.LOST, why)

    def _succeed(self, op: Op, message_id: pb.MessageIdData) -> None:
        op.chunk_ids.append(message_id)
        duplicate = message_id.ledgerId == NO_ID
        size = len(op.sent)
        batched = self._settings.batching and op.sent and op.sent[0].message.deliver_at_ms is None
        for index, sent in enumerate(op.sent):
            self.last_sequence_id = max(self.last_sequence_id, sent.sequence_id)
            position = (-1, -1) if duplicate else (message_id.ledgerId, message_id.entryId)
            place = (index, size) if batched else (-1, 0)
            result: Result = Done(
                message_id=MessageId(*position, self._partition, *place), sequence_id=sent.sequence_id
            )
            if duplicate and self.shared.mutated(Mutation.FAILS_DUPLICATE_RECEIPT):
                result = Failed(ErrorClass.OTHER, "the receipt carries no position")
            self._release((sent,), result)

    def _release(self, group: tuple[Sent, ...] | list[Sent], result: Result) -> None:
        """Messages leave the producer: their room and memory are free again."""
        for sent in group:
            self._messages -= 1
            self.shared.memory_bytes -= len(sent.message.payload)
            self._complete(sent, result)

    def _complete(self, sent: Sent, result: Result) -> None:
        if sent.op is None:
            return
        op = sent.op
        if self.shared.mutated(Mutation.COMPLETES_OUT_OF_ORDER) and self._pending and sent.sequence_id % 2 == 0:
            self.shared.after(_PASSED_BY_NS, lambda: self.shared.sink.completed(op, result))
            return
        self.shared.sink.completed(op, result)

    def _settled(self) -> None:
        """Units have left the queue."""
        self._arm_timeout()
        self._finish_flushes()
        self._run_waiting()
        if self.shared.settings.memory_limit_bytes:
            # Another producer's blocked send may fit now.
            for run_waiting in self.shared.memory_waiters:
                run_waiting()

    # --- time-out ---

    def _arm_timeout(self) -> None:
        timeout_ms = self._settings.send_timeout_ms
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None
        if timeout_ms == 0 or not self._pending or self.shared.mutated(Mutation.NEVER_TIMES_OUT):
            return
        late_ns = self.shared.lateness_ns(Mutation.SEND_TIMEOUT_LATE)
        due_ns = self._pending[0].created_ns + timeout_ms * MS + late_ns
        self._timeout = self.shared.timers.at(due_ns, self._time_out)

    def _time_out(self) -> None:
        """Fail what is older than the time-out; younger units stay pending."""
        late_ns = self.shared.lateness_ns(Mutation.SEND_TIMEOUT_LATE)
        expired_ns = self.shared.now_ns - self._settings.send_timeout_ms * MS - late_ns
        while self._pending and self._pending[0].created_ns <= expired_ns:
            op = self._pending.popleft()
            self._release(op.sent, Failed(ErrorClass.TIMEOUT, "no receipt within the send time-out", op.certain))
        self._settled()

    # --- the life of a handler ---

    def _registration(self, request_id: int) -> BaseCommand:
        settings = self._settings
        built = command(
            CommandType.PRODUCER,
            topic=self.topic,
            producer_id=self._producer_id,
            request_id=request_id,
            epoch=self.registrations,
            user_provided_producer_name=settings.producer_name is not None,
            producer_access_mode=ACCESS_MODES[settings.access_mode],
        )
        name = self._builder.name or settings.producer_name
        if name:
            built.producer.producer_name = name
        if self._topic_epoch is not None:
            built.producer.topic_epoch = self._topic_epoch
        return built

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
        if body.HasField("topic_epoch"):
            self._topic_epoch = body.topic_epoch
        if self._opened is not None:
            self._start_numbering(body.last_sequence_id)
            opened, self._opened = self._opened, None
            opened(Done(producer_name=body.producer_name, last_sequence_id=body.last_sequence_id))
        else:
            if self.shared.mutated(Mutation.SKIPS_SEQUENCE_ID):
                self._next_sequence_id += 1
            self._resend()
        self._receipts = 0
        self._run_waiting()

    def _start_numbering(self, last_sequence_id: int) -> None:
        """Continue behind what the application named, or else behind what the broker last saw of this name.

        Only when new: a reconnect must not rewind or advance the numbers (DDP-007).
        """
        initial = self._settings.initial_sequence_id
        last = last_sequence_id if initial is None else initial
        self.last_sequence_id = last
        self._last_pushed = last
        self._next_sequence_id = last + 1
        if initial is None and self.shared.mutated(Mutation.IGNORES_LAST_SEQUENCE_ID):
            self._next_sequence_id = 0
        if initial is None and last >= 0 and self.shared.mutated(Mutation.SKIPS_AFTER_LAST_SEQUENCE_ID):
            self._next_sequence_id += 1

    def _resend(self) -> None:
        """Everything pending, from the oldest, each the same bytes as before."""
        mutated = self.shared.mutated
        unsent = [op for op in self._pending if op.session is None]
        units = [op for op in self._pending if op.session != self.registrations]
        again = any(op.session is not None for op in units)
        if mutated(Mutation.SWAPS_SENDS_WHILE_AWAY) and len(unsent) > 1:
            swap_payloads(*unsent[-2:])
        if mutated(Mutation.OVERTAKES_RESEND):
            units.sort(key=lambda op: op.session is not None)
        if mutated(Mutation.RESENDS_RECEIPTED) and self._last_receipted is not None:
            self._write(self._last_receipted)
        for op in units:
            if op.session is not None and mutated(Mutation.RESTAMPS_RESEND):
                restamp(op, self.shared.unix_ms())
            self._write(op)
        if again and mutated(Mutation.PUBLISHES_AGAIN_AFTER_RESEND):
            for sent in self._pending[-1].sent:
                self._number(Sent(None, sent.message, -1))

    def _lost(self) -> None:
        written = [op for op in self._pending if not op.certain]
        if self.shared.mutated(Mutation.FAILS_PENDING_ON_LOSS):
            self._forget(written)
        elif self.shared.mutated(Mutation.LOSES_THIRD_SEND) and self._receipts == 2:
            self._forget(written[:1])

    def _forget(self, ops: list[Op]) -> None:
        """Only for mutations: units fail because their connection did."""
        for op in ops:
            self._pending.remove(op)
            self._release(op.sent, Failed(ErrorClass.TRANSPORT, "the connection was lost"))
        self._settled()

    def _ended(self, refusal: Refusal) -> None:
        self._close_batch()
        self._fail_all(refusal.error, refusal.text)
        if self._opened is not None:
            opened, self._opened = self._opened, None
            opened(refusal.failed(certain=refusal.cause is Cause.SERVER))
        self._run_waiting()

    def _fail_all(self, error: ErrorClass, text: str) -> None:
        while self._pending:
            op = self._pending.popleft()
            self._release(op.sent, Failed(error, text, op.certain))
        self._settled()
