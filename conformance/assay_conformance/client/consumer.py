"""The consumer of one topic or partition: permits, opened entries, acknowledgments and redelivery requests.

Nothing is expected before FLOW. After SUBSCRIBE has succeeded the queue's whole size is granted, and from then on what
was consumed, whenever that makes half a queue. Whatever is dropped in here returns its permits, or the consumer would
stall in the long run. After a reconnect everything unacknowledged comes again, so the queue starts empty and with it
the accounting: what came over the old connection grants nothing on the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay_conformance.client.acks import AckGroup
from assay_conformance.client.all_of import AllOf
from assay_conformance.client.chunks import ChunkBuffer
from assay_conformance.client.connection import Connection
from assay_conformance.client.entries import (
    BadEntryError,
    Entry,
    Position,
    bits_of,
    check_size,
    open_entry,
    uncompress,
)
from assay_conformance.client.handed import Handed, Inbound, Queue
from assay_conformance.client.handler import Handler, Phase
from assay_conformance.client.letters import Letters, letter_of
from assay_conformance.client.lookup import Lookup, Pool
from assay_conformance.client.mutations import Mutation
from assay_conformance.client.redelivery import Redelivery
from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.client.seeking import Place, Seeking
from assay_conformance.client.settings import ConsumerSettings, InitialPosition, SubscriptionType
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer
from assay_conformance.client.values import Done, Failed, Result
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import (
    BaseCommand,
    CommandType,
    Frame,
    MessageMetadata,
    MetadataError,
    Payload,
    command,
    is_batch,
    message_id,
)
from assay_conformance.wire import pulsar_pb2 as pb

_TYPES: dict[SubscriptionType, pb.CommandSubscribe.SubType] = {
    SubscriptionType.EXCLUSIVE: pb.CommandSubscribe.Exclusive,
    SubscriptionType.SHARED: pb.CommandSubscribe.Shared,
    SubscriptionType.FAILOVER: pb.CommandSubscribe.Failover,
    SubscriptionType.KEY_SHARED: pb.CommandSubscribe.Key_Shared,
}
_POSITIONS: dict[InitialPosition, pb.CommandSubscribe.InitialPosition] = {
    InitialPosition.EARLIEST: pb.CommandSubscribe.Earliest,
    InitialPosition.LATEST: pb.CommandSubscribe.Latest,
}


class Consumer(Handler):
    """`opened` is called once, when first subscribed or when that failed for good."""

    def __init__(
        self,
        shared: Shared,
        pool: Pool,
        lookup: Lookup,
        topic: str,
        subscription: str,
        settings: ConsumerSettings,
        queue: Queue,
        opened: Callable[[Result], None],
        partition: int = -1,
        letters: Letters | None = None,
    ) -> None:
        super().__init__(shared, pool, lookup, topic)
        self._letters = letters
        self.consumer_id = next(shared.consumer_ids)
        self.partition = partition
        self._subscription = subscription
        self._settings = settings
        self._queue = queue
        self._opened: Callable[[Result], None] | None = opened
        self._acks = AckGroup(shared, settings, self)
        self._redelivery: Redelivery[Handed] = Redelivery(
            shared, settings, self, self._refused, self._all_again, self._bury
        )
        self._chunks = ChunkBuffer(
            settings.max_pending_chunked_messages, settings.auto_ack_oldest_chunked, shared.mutations
        )
        self._expiry: Timer | None = None
        self._seeking = Seeking(shared, self, self._withdraw_all)
        self._consumed = 0
        self._paused = False
        self._asked_one = False

    # --- from the subscription ---

    def handed_over(self, inbound: Inbound) -> Handed:
        """The application got this message."""
        copy = inbound if self.shared.mutated(Mutation.NACK_REQUEUES_LOCALLY) else None
        handed = Handed(self, inbound.entry, inbound.opened.index, inbound.redelivery_count, copy)
        if self._settings.retry_letters:
            handed.letter = letter_of(inbound.opened, self.topic, inbound.entry.position)
        if self._settings.receiver_queue_size == 0:
            self._asked_one = False
        elif inbound.session == self.registrations:
            self._return_permits(1)
        self._redelivery.hand_over(handed)
        return handed

    def ack(self, handed: Handed, *, cumulative: bool) -> None:
        if self.closed:
            return
        if cumulative:
            self._acks.cumulative(handed.entry, handed.index)
        else:
            self._acks.individual(handed.entry, handed.index)
        self._redelivery.acked(handed, cumulative=cumulative)

    def acked(self, op: int | None) -> None:
        """That was all of one operation; `op` ends with it, None when it ends with another consumer.

        A consumer that was refused for good sends nothing any more.
        """
        if not self.closed:
            self._acks.issued(op)
        elif op is not None:
            self.shared.sink.completed(op, Failed(ErrorClass.CLOSED, "the consumer is closed", certain=True))

    def nack(self, handed: Handed) -> None:
        self._redelivery.nack(handed)

    def reconsume_later(self, handed: Handed, delay_ms: int, ended: Callable[[Result], None]) -> None:
        """Post a copy of it to come again later; it is acknowledged when that is done, and redelivered otherwise."""
        assert self._letters is not None
        assert handed.letter is not None

        def posted(result: Result) -> None:
            if isinstance(result, Done):
                self.ack(handed, cumulative=False)
                self._acks.issued(None)
            else:
                self._redelivery.at_once(handed.entry)
            ended(result)

        self._letters.retry(handed.letter, delay_ms, posted)

    def seek(self, place: Place, sought: Callable[[Result], None]) -> None:
        """Move the subscription; acknowledgments leave before, and nothing from before is kept."""
        if not self.ready:
            sought(Failed(ErrorClass.TRANSPORT, "the consumer is not connected", certain=True))
            return
        if not self.shared.mutated(Mutation.SEEK_KEEPS_ACKS):
            self._acks.flush()
        self._acks.start_over()
        self._redelivery.drop()
        self._seeking.begin(place, sought)

    def pause(self) -> None:
        """Ask for no more messages; those that were asked for still come."""
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._return_permits(0)
        self._queue.starved()

    def wanted(self) -> None:
        """The application waits for a message, and the queue is empty: one without prefetch asks for it now."""
        if self._settings.receiver_queue_size == 0 and self.ready and not self._asked_one and not self._paused:
            self._asked_one = True
            self._flow(1)

    def close(self, closed: Callable[[], None]) -> None:
        """Flush acknowledgments, then close at the broker; pending negative ones are dropped, it redelivers at once."""
        last_ns = self._redelivery.last_nack_ns
        if last_ns is not None and self.shared.mutated(Mutation.CLOSE_WAITS_FOR_NACKS):
            self.shared.timers.at(last_ns + 1, lambda: self.close(closed))
            return
        if self.ready and not self.shared.mutated(Mutation.CLOSE_DROPS_ACKS):
            self._acks.flush()
        self._forget()
        self.leave(lambda _refusal: closed())

    def unsubscribe(self, unsubscribed: Callable[[Result], None]) -> None:
        if not self.ready:
            unsubscribed(Failed(Refusal(Cause.LOST, "").error, "the consumer is not connected", certain=True))
            return

        def answered(answer: Frame | Refusal) -> None:
            if isinstance(answer, Refusal):
                unsubscribed(answer.failed())
                return
            self._forget()
            self._stop()
            unsubscribed(Done())

        self.ask(
            lambda request_id: command(
                CommandType.UNSUBSCRIBE, consumer_id=self.consumer_id, request_id=request_id, force=False
            ),
            answered,
        )

    # --- Outlet: what acknowledgments leave through ---

    @property
    def version(self) -> int:
        assert self.connection is not None
        return self.connection.version

    def post(self, built: BaseCommand) -> None:
        assert self.connection is not None
        self.connection.send(built)

    def ask(self, build: Callable[[int], BaseCommand], answered: Callable[[Frame | Refusal], None]) -> None:
        assert self.connection is not None
        self.connection.request(build, answered)

    # --- arriving messages ---

    def message(self, frame: Frame) -> None:
        payload = frame.payload
        assert payload is not None
        # Closing: it stays unacknowledged and goes to whoever comes next. Seeking: it is of the place that was left.
        if not self.ready or self._seeking.drops:
            return
        body = frame.body
        position = (body.message_id.ledgerId, body.message_id.entryId)
        if not payload.checksum_ok() and not self.shared.mutated(Mutation.DELIVERS_CORRUPT):
            self._corrupt(position)
            return
        try:
            self._take(payload, position, body)
        except MetadataError:
            if self.shared.mutated(Mutation.BAD_METADATA_CLOSES) and self.connection is not None:
                self.connection.close(Cause.LOST, "undecodable metadata")
                return
            self._discard(position, pb.CommandAck.ChecksumMismatch, 1)
        except BadEntryError as error:
            self._unreadable(payload.metadata, position, error.reason)

    def _take(self, payload: Payload, position: Position, body: pb.CommandMessage) -> None:
        metadata = payload.metadata
        if self._acks.covers(position):
            # Acknowledged while it was on its way again (ACK-008).
            if not self.shared.mutated(Mutation.ACKED_AGAIN_KEEPS_PERMIT):
                self._return_permits(_unfiltered(metadata, body.ack_set))
            return
        if self._redelivery.drops(position):
            self._return_permits(_unfiltered(metadata, body.ack_set))
            return
        chunked = metadata.num_chunks_from_msg > 1 and not self.shared.mutated(Mutation.DELIVERS_FRAGMENTS)
        if not chunked:
            check_size(payload.data, self._limit())
            data = uncompress(metadata, payload.data, self.shared.mutations)
            self._arrived(metadata, data, (position,), body)
            return
        progress = self._chunks.add(metadata, bytes(payload.data), position, self.shared.now_ns)
        self._expire_chunks()
        if progress.acks:
            self._acks.immediately(progress.acks)
        if progress.joined is None:
            self._return_permits(1)
        else:
            data = uncompress(metadata, progress.joined.data)
            self._arrived(metadata, data, progress.joined.positions, body)

    def _expire_chunks(self) -> None:
        """Give up the messages that are incomplete for too long, and look again when the next one is."""
        age_ns = self._settings.expire_incomplete_chunked_ms * MS
        if not age_ns or self.shared.mutated(Mutation.INCOMPLETE_NEVER_EXPIRES):
            return
        if (chunks := self._chunks.expired(self.shared.now_ns - age_ns)) and self.ready:
            self._acks.immediately(chunks)
        if self._expiry is not None:
            self._expiry.cancel()
        if (oldest_ns := self._chunks.oldest_ns) is not None:
            self._expiry = self.shared.timers.at(oldest_ns + age_ns, self._expire_chunks)

    def _arrived(
        self, metadata: MessageMetadata, data: bytes, positions: tuple[Position, ...], body: pb.CommandMessage
    ) -> None:
        opened = open_entry(metadata, data)
        size = metadata.num_messages_in_batch if is_batch(metadata) else 1
        entry = Entry(positions, size, bits_of(body.ack_set, size))
        charged = size if self.shared.mutated(Mutation.PERMITS_FOR_FILTERED) else entry.unacked.bit_count()
        if not self.shared.mutated(Mutation.HANDS_OVER_ACKED):
            entry.unacked &= self._acks.open_of(entry.position)
        every = self.shared.mutated(Mutation.IGNORES_ACK_SET)
        wanted = [
            message
            for message in opened
            if (every or entry.unacked >> (message.index or 0) & 1)
            and self._seeking.passes(entry.position, message.index)
        ]
        # The broker charged for every message its ack_set left: those compacted away, or settled meanwhile, return
        # their permits here; those it had acknowledged were never charged (ACK-012).
        self._return_permits(max(0, charged - len(wanted)))
        if self.shared.mutated(Mutation.REVERSES_BATCH):
            wanted.reverse()
        if wanted and self._settings.max_redeliver_count and self._letters is not None:
            if body.redelivery_count >= self._settings.max_redeliver_count:
                entry.letters = {m.index or 0: letter_of(m, self.topic, entry.position) for m in wanted}
            if body.redelivery_count > self._settings.max_redeliver_count:
                self._return_permits(len(wanted))
                self._bury(entry)
                return
        for message in wanted:
            if not message.payload and self.shared.mutated(Mutation.EMPTY_PAYLOAD_DROPPED):
                self._return_permits(1)
                continue
            inbound = Inbound(self, self.registrations, entry, message, metadata, body.redelivery_count)
            if self.shared.mutated(Mutation.TIMES_OUT_PREFETCHED):
                self._redelivery.hand_over(Handed(self, entry, message.index, inbound.redelivery_count, None))
            self._queue.arrived(inbound)

    def _corrupt(self, position: Position) -> None:
        if self.shared.mutated(Mutation.CORRUPT_CLOSES_CONNECTION):
            assert self.connection is not None
            self.connection.close(Cause.LOST, "checksum mismatch")
            return
        permits = 0 if self.shared.mutated(Mutation.CORRUPT_KEEPS_PERMIT) else 1
        self._discard(position, pb.CommandAck.ChecksumMismatch, permits)

    def _unreadable(self, metadata: MessageMetadata, position: Position, reason: pb.CommandAck.ValidationError) -> None:
        permits = metadata.num_messages_in_batch if is_batch(metadata) else 1
        if reason == pb.CommandAck.BatchDeSerializeError and self.shared.mutated(Mutation.BAD_BATCH_UNREPORTED):
            self._return_permits(permits)
            return
        if self.shared.mutated(Mutation.BAD_BODY_UNREPORTED):
            self._return_permits(permits)
            return
        self._discard(position, reason, 0 if self.shared.mutated(Mutation.BAD_BODY_KEEPS_PERMIT) else permits)

    def _discard(self, position: Position, reason: pb.CommandAck.ValidationError, permits: int) -> None:
        """Acknowledge an entry nobody can read, with the reason, so that it does not come again for ever."""
        self.post(
            command(
                CommandType.ACK,
                consumer_id=self.consumer_id,
                ack_type=pb.CommandAck.Individual,
                message_id=[message_id(*position)],
                validation_error=reason,
            )
        )
        self._return_permits(permits)

    def _limit(self) -> int:
        assert self.connection is not None
        return self.connection.max_message_bytes

    def _return_permits(self, count: int) -> None:
        if self._settings.receiver_queue_size == 0:
            if count:
                self._asked_one = False
                self._queue.starved()
            return
        self._consumed += count
        portions = 1 if self.shared.mutated(Mutation.FLOW_AFTER_WHOLE_QUEUE) else 2
        enough = self._consumed >= max(1, self._settings.receiver_queue_size // portions)
        if enough and self.ready and not self._paused:
            self._flow(self._consumed)
            self._consumed = 0

    def _flow(self, permits: int) -> None:
        self.post(command(CommandType.FLOW, consumer_id=self.consumer_id, messagePermits=permits))

    # --- redelivery ---

    def _refused(self, due: Sequence[Handed]) -> None:
        for handed in due:
            if handed.copy is not None:
                self._queue.arrived(handed.copy)

    def _bury(self, entry: Entry) -> bool:
        """Post what was redelivered often enough to the dead letter topic; False where it was not."""
        letters = [letter for index, letter in entry.letters.items() if entry.unacked >> index & 1]
        entry.letters = {}
        if not letters or self._letters is None:
            return False

        def posted(result: Result) -> None:
            if isinstance(result, Done):
                self._acks.individual(entry, None)
                self._acks.issued(None)
            else:
                self._redelivery.at_once(entry)

        together = AllOf(len(letters), posted)
        for letter in letters:
            self._letters.bury(letter, together.one)
        return True

    def _all_again(self) -> None:
        """Everything unacknowledged was asked for: what is prefetched would come twice."""
        self._chunks.clear()
        self._return_permits(self._queue.withdraw(self))

    # --- the life of a handler ---

    def _registration(self, request_id: int) -> BaseCommand:
        settings = self._settings
        built = command(
            CommandType.SUBSCRIBE,
            topic=self.topic,
            subscription=self._subscription,
            subType=_TYPES[settings.subscription_type],
            consumer_id=self.consumer_id,
            request_id=request_id,
            durable=True,
            initialPosition=_POSITIONS[settings.initial_position],
        )
        if settings.consumer_name is not None:
            built.subscribe.consumer_name = settings.consumer_name
        return built

    def _closure(self, request_id: int) -> BaseCommand:
        return command(CommandType.CLOSE_CONSUMER, consumer_id=self.consumer_id, request_id=request_id)

    def _enlist(self, connection: Connection) -> None:
        connection.consumers[self.consumer_id] = self

    def _delist(self, connection: Connection) -> None:
        connection.consumers.pop(self.consumer_id, None)

    def _requested(self) -> None:
        if self.shared.mutated(Mutation.FLOW_BEFORE_SUBSCRIBED) and self._settings.receiver_queue_size:
            self._flow(self._settings.receiver_queue_size)

    def _registered(self, answer: Frame) -> None:
        del answer
        used, self._consumed = self._consumed, 0
        self._acks.flush()
        self._asked_one = False
        if self._paused:
            self._consumed = self._settings.receiver_queue_size
        elif self._settings.receiver_queue_size == 0:
            self._queue.starved()
        elif not self.shared.mutated(Mutation.FLOW_BEFORE_SUBSCRIBED):
            self._flow(self._first_permits(used))
        self._seeking.registered()
        if self._opened is not None:
            opened, self._opened = self._opened, None
            opened(Done())

    def _first_permits(self, used: int) -> int:
        """The whole queue, whatever was `used` of the permits the broker has forgotten."""
        size = self._settings.receiver_queue_size
        if self.registrations == 1:
            return size + 1 if self.shared.mutated(Mutation.FIRST_FLOW_TOO_LARGE) else size
        return max(used, 1) if self.shared.mutated(Mutation.LESS_PERMITS_AFTER_RECONNECT) else size

    def _withdraw_all(self) -> None:
        self._queue.withdraw(self)

    def _lost(self) -> None:
        self._acks.lost()
        if self._seeking.drops and not self.shared.mutated(Mutation.SEEK_KEEPS_ACKS):
            self._acks.drop()
        self._seeking.lost()
        if not (self._seeking.drops and self.shared.mutated(Mutation.SEEK_KEEPS_PREFETCH)):
            self._queue.withdraw(self)
        self._chunks.clear()
        self._redelivery.lost()

    def _ended(self, refusal: Refusal) -> None:
        self._forget()
        if self._opened is not None:
            opened, self._opened = self._opened, None
            opened(refusal.failed(certain=refusal.cause is Cause.SERVER))

    def _forget(self) -> None:
        self._seeking.ended()
        self._queue.withdraw(self)
        self._acks.drop()
        self._redelivery.drop()
        self._chunks.clear()

    @property
    def closed(self) -> bool:
        return self.phase in (Phase.CLOSING, Phase.CLOSED)


def _unfiltered(metadata: MessageMetadata, ack_set: Sequence[int]) -> int:
    """How many permits the broker charged for an entry."""
    size = metadata.num_messages_in_batch if is_batch(metadata) else 1
    return bits_of(ack_set, size).bit_count()
