"""The producer of one topic or partition: taking sends in order, writing them, and writing them again.

A unit is written at once when the broker has admitted the producer, and again, the same bytes in the same order, after
every later PRODUCER_SUCCESS, until its receipt comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from assay_conformance.client.batch import Batching
from assay_conformance.client.cheats import spoilt
from assay_conformance.client.connection import Connection
from assay_conformance.client.handler import Handler, Phase
from assay_conformance.client.lookup import Lookup, Pool
from assay_conformance.client.mutations import Mutation
from assay_conformance.client.numbering import Numbering
from assay_conformance.client.ops import ACCESS_MODES, Op, OpBuilder, Sent, TooLargeError
from assay_conformance.client.pending import Pending
from assay_conformance.client.receipts import Receipts
from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.client.settings import BatchingType, ProducerSettings
from assay_conformance.client.shared import MS, Shared
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

    RETURNS = Mutation.RETURNS_AFTER_CLOSE
    STAYS_BEHIND = Mutation.LEAVES_PRODUCER_BEHIND
    RETRIES_DELETED = Mutation.RETRIES_DELETED

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
        self._builder = OpBuilder(self._producer_id, settings, shared.mutations)
        self._epoch = 7 if shared.mutated(Mutation.EPOCH_BEGINS_ANYWHERE) else 0
        self._topic_epoch: int | None = None
        self._max_message_bytes = 0
        self._numbering = Numbering(shared, settings)
        self._waiting: deque[Callable[[], bool]] = deque()
        self._running = False
        self._pending = Pending(shared, settings, self._run_waiting)
        self._batching = Batching(shared, settings, self._pending, self._batch, self._enqueue)
        self._receipts = Receipts(shared, self._pending, self._numbering, partition, self._reconnect, self._finish)

    @property
    def last_sequence_id(self) -> int:
        return self._numbering.last_receipted

    @property
    def is_full(self) -> bool:
        return self._pending.why_full() is not None

    # --- from the application ---

    def send(self, op: int, message: Outgoing, *, sync: bool = False) -> None:
        """A synchronous send closes the open batch: whoever waits for it can bring it no more company."""
        self._in_order(
            lambda: self._accept_sync(Sent(op, message, -1)) if sync else self._accept(Sent(op, message, -1))
        )

    def flush(self, flushed: Completed) -> None:
        """`flushed` is called when everything sent before has ended."""
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

        One that makes room leaves it to those behind it, when it has ended itself.
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
            self._pending.complete(sent, _CLOSED)
            return True
        why_full = self._pending.why_full() or self._number(sent)
        if why_full is None:
            return True
        if self._settings.block_if_queue_full:
            return False
        self._pending.refused(sent, Failed(ErrorClass.QUEUE_FULL, why_full, certain=True))
        if self.shared.mutated(Mutation.SENDS_WHAT_IT_REFUSED):
            self._number(Sent(None, sent.message, sent.sequence_id))
        return True

    def _accept_sync(self, sent: Sent) -> bool:
        if not self._accept(sent):
            return False
        if not self.shared.mutated(Mutation.SYNC_SEND_LEAVES_BATCH):
            self._batching.close()
        if self.shared.mutated(Mutation.SYNC_SEND_RETURNS_AT_ONCE):
            self._pending.complete(sent, Done(sequence_id=sent.sequence_id))
            sent.op = None
        return True

    def _number(self, sent: Sent) -> str | None:
        """Number a send and take it in; why its chunks have no room now, or None."""
        sent.sequence_id = self._numbering.of(sent.message)
        alone = (
            not self._settings.batching
            # The entry carries one time, and its other messages would wait for it (PIP-26).
            or (sent.message.deliver_at_ms is not None and not self.shared.mutated(Mutation.DELAYED_JOINS_BATCH))
            # Batched with new messages, one the broker may know already would take them with it as duplicates.
            or self._numbering.goes_back(sent.sequence_id)
        )
        if alone and not self.shared.mutated(Mutation.DELAYED_OVERTAKES_BATCH):
            self._batching.close()
        try:
            ops = self._alone(sent) if alone else []
            places = self._places(ops)
            why_full = self._why_no_room(places) if places > 1 else None
        except TooLargeError as error:
            if self.shared.mutated(Mutation.TOO_LARGE_KEEPS_PLACE):
                self._pending.accept(sent)
            self._pending.complete(sent, Failed(ErrorClass.TOO_LARGE, str(error), certain=True))
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

    def _why_no_room(self, chunks: int) -> str | None:
        """Why so many chunks must wait. TooLargeError where they would wait for ever."""
        limit = self._settings.max_pending_messages
        if self._settings.block_if_queue_full and 0 < limit < chunks:
            raise TooLargeError(f"message of {chunks} chunks, max_pending_messages is {limit}")
        return self._pending.why_full(chunks)

    def _places(self, ops: Sequence[Op]) -> int:
        """What a message takes in the queue: one place, or one for each of its chunks."""
        return 1 if self.shared.mutated(Mutation.CHUNKS_HOLD_ONE_PERMIT) else max(1, len(ops))

    def _alone(self, sent: Sent) -> list[Op]:
        return self._builder.message(sent, self._limit(), self.shared.now_ns, self.shared.unix_ms())

    def _batch(self, group: Sequence[Sent], first_ns: int) -> Op:
        keyed = self._settings.batching_type is BatchingType.KEY_BASED
        build = self._builder.keyed_batch if keyed else self._builder.batch
        return build(group, self._limit(), first_ns, self.shared.unix_ms())

    def _limit(self) -> int:
        if self.shared.mutated(Mutation.LIMIT_OF_LAST_CONNECTION):
            return self.shared.last_limit
        return self._max_message_bytes

    def _enqueue(self, ops: Sequence[Op]) -> None:
        for op in ops:
            self._pending.add(op)
            if self._may_write():
                self._write(op)

    def _may_write(self) -> bool:
        if self.phase is Phase.REGISTERING and self.registrations > 0:
            return self.shared.mutated(Mutation.SENDS_BEFORE_SUCCESS)
        return self.ready

    @property
    def _session(self) -> int:
        """The registration that what is written now belongs to."""
        return self.registrations if self.ready else self.registrations + 1

    def _write(self, op: Op) -> None:
        assert self.connection is not None
        op.session = self._session
        old = self.connection.version < CHECKSUM_SINCE and not self.shared.mutated(Mutation.SUMS_FOR_THE_OLD)
        self.connection.write(without_checksum(op.frame) if old else op.frame)

    # --- flush and close ---

    def _flush(self, flushed: Completed) -> bool:
        if self.phase is Phase.CLOSED:
            flushed(_CLOSED)
            return True
        if self._batching.is_open and self.shared.mutated(Mutation.FLUSH_LEAVES_BATCH):
            self.shared.after(self._settings.batching_max_publish_delay_ms * MS, lambda: self._pending.flush(flushed))
            return True
        waits_for_batch = self._settings.batching and self.shared.mutated(Mutation.FLUSH_WAITS_FOR_OPEN_BATCH)
        leaves_rest = waits_for_batch and not self._batching.is_open
        self._batching.close()
        if leaves_rest or self.shared.mutated(Mutation.FLUSH_RETURNS_AT_ONCE):
            flushed(Done())
        else:
            self._pending.flush(flushed)
        return True

    def _close(self, closed: Completed) -> bool:
        if self.phase in (Phase.CLOSING, Phase.CLOSED):
            closed(Done())
            return True
        # A batch that is too large leaves room, and who is blocked would open the next one, which nobody closes.
        running, self._running = self._running, True
        self._batching.close()
        self._running = running
        if self.shared.mutated(Mutation.CLOSE_FAILS_PENDING):
            self._fail_all(ErrorClass.CLOSED, "the producer was closed")

        def left(refusal: Refusal | None) -> None:
            # The broker answers after the receipts: what has none now may or may not be stored.
            del refusal
            if not self.shared.mutated(Mutation.PENDING_OUTLIVES_CLOSE):
                self._fail_all(ErrorClass.CLOSED, "the producer was closed")
            closed(Done())

        self.leave(left)
        self._run_waiting()
        return True

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
        settings, mutated = self._settings, self.shared.mutated
        built = command(
            CommandType.PRODUCER,
            topic=self.topic,
            producer_id=self._producer_id,
            request_id=request_id,
            epoch=0 if mutated(Mutation.EPOCH_STAYS) else self._epoch,
            user_provided_producer_name=settings.producer_name is not None or mutated(Mutation.CLAIMS_GIVEN_NAME),
            producer_access_mode=ACCESS_MODES[settings.access_mode],
        )
        # A broker that admitted this attempt and whose answer is lost must see that the next one is later.
        self._epoch += 1
        name = self._builder.name or settings.producer_name
        if name and not (self.registrations and mutated(Mutation.RECONNECTS_NAMELESS)):
            built.producer.producer_name = name
        if self._first_subscription is not None:
            built.producer.initial_subscription_name = self._first_subscription
        if self._topic_epoch is not None and not mutated(Mutation.FORGETS_TOPIC_EPOCH):
            built.producer.topic_epoch = self._topic_epoch
        return built

    def _closure(self, request_id: int) -> BaseCommand:
        return command(CommandType.CLOSE_PRODUCER, producer_id=self._producer_id, request_id=request_id)

    def _enlist(self, connection: Connection) -> None:
        connection.producers[self._producer_id] = self

    def _delist(self, connection: Connection) -> None:
        connection.producers.pop(self._producer_id, None)

    def _requested(self) -> None:
        if self.registrations > 0 and self.shared.mutated(Mutation.SENDS_BEFORE_SUCCESS):
            self._resend()

    def _registered(self, answer: Frame) -> None:
        assert self.connection is not None
        body = answer.body
        self._max_message_bytes = self.connection.max_message_bytes
        self._builder.name = body.producer_name
        if body.HasField("topic_epoch"):
            self._topic_epoch = body.topic_epoch
        if self._opened is not None:
            self._numbering.start(body.last_sequence_id)
            opened, self._opened = self._opened, None
            opened(Done(producer_name=body.producer_name, last_sequence_id=body.last_sequence_id))
        else:
            self._numbering.registered_again(body.last_sequence_id)
            self._resend()
        self._receipts.count = 0
        self._run_waiting()

    def _resend(self) -> None:
        """Everything pending, from the oldest, each the same bytes as before."""
        if self._receipts.count == 2 and self.shared.mutated(Mutation.LOSES_THIRD_SEND):
            self._forget(lambda op: op is self._pending.head)
        units = [op for op in self._pending if op.session != self._session]
        again = any(op.session is not None for op in units)
        for op in spoilt(units, self._receipts.last, self.shared):
            self._write(op)
        if again and self.shared.mutated(Mutation.PUBLISHES_AGAIN_AFTER_RESEND):
            for sent in units[-1].sent:
                self._number(Sent(None, sent.message, -1))

    def _turned_away(self, refusal: Refusal) -> None:
        over = refusal.code == pb.ProducerBlockedQuotaExceededException and self._opened is None
        if over and not self.shared.mutated(Mutation.QUOTA_KEEPS_PENDING):
            self._fail_all(refusal.error, refusal.text)

    def _lost(self) -> None:
        if self.shared.mutated(Mutation.FAILS_PENDING_ON_LOSS):
            self._forget(lambda _op: True)

    def _forget(self, which: Callable[[Op], bool]) -> None:
        """Only for mutations: units that were written fail because their connection ended."""
        lost = self._pending.take(lambda op: not op.certain and which(op))
        self._pending.fail(lost, ErrorClass.TRANSPORT, "the connection was lost")
        self._pending.settled()

    def _ended(self, refusal: Refusal) -> None:
        self._batching.close()
        self._fail_all(refusal.error, refusal.text)
        if self._opened is not None:
            opened, self._opened = self._opened, None
            opened(refusal.failed(certain=refusal.cause is Cause.SERVER))
        self._run_waiting()

    def _fail_all(self, error: ErrorClass, text: str) -> None:
        vague = {ErrorClass.TERMINATED: Mutation.TERMINATED_IS_VAGUE, ErrorClass.FENCED: Mutation.FENCED_IS_VAGUE}
        if error in vague and self.shared.mutated(vague[error]):
            error = ErrorClass.OTHER
        self._pending.fail(self._pending.take(lambda _op: True), error, text)
        self._pending.settled()
