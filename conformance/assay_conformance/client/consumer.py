"""The consumer of one topic or partition: what arrives goes to the queue, what the application settles to the broker.

After a reconnect everything unacknowledged comes again, so the queue starts empty and with it the accounting: what
came over the old connection grants nothing on the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay_conformance.client.acks import AckGroup
from assay_conformance.client.arrivals import Arrivals
from assay_conformance.client.connection import Connection
from assay_conformance.client.entries import Entry, Opened
from assay_conformance.client.handed import Handed, Inbound, Queue
from assay_conformance.client.handler import Handler, Phase
from assay_conformance.client.letters import DeadLetters, Letters, letter_of
from assay_conformance.client.lookup import Lookup, Pool
from assay_conformance.client.permits import Permits
from assay_conformance.client.reader import ReadingPlace, position_of
from assay_conformance.client.redelivery import Redelivery
from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.client.registering import state_consumer
from assay_conformance.client.schemas import WriterSchemas, stated_schema
from assay_conformance.client.seeking import Place, Seeking
from assay_conformance.client.settings import ConsumerSettings, InitialPosition, SubscriptionType
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.values import Done, Failed, Result
from assay_conformance.model.event import ErrorClass, MessageId
from assay_conformance.wire import BaseCommand, CommandType, Frame, MessageMetadata, command
from assay_conformance.wire import pulsar_pb2 as pb

LAST_ID_SINCE = 12
"""The first protocol version with GET_LAST_MESSAGE_ID."""

_CLOSED = Failed(ErrorClass.CLOSED, "the consumer is closed", certain=True)

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
        self._epoch = 0
        self.consumer_id = next(shared.consumer_ids)
        self.partition = partition
        self._subscription = subscription
        self._settings = settings
        self._queue = queue
        self._opened: Callable[[Result], None] | None = opened
        self._permits = shared.implementation(Permits)(shared, settings, self, queue)
        self._acks = shared.implementation(AckGroup)(shared, settings, self)
        self._dead_letters = shared.implementation(DeadLetters)(letters, settings, topic, self._posted)
        self._redelivery: Redelivery[Handed] = shared.implementation(Redelivery)(
            shared, settings, self, self._all_again, self._dead_letters.move_to_dead_letter, self._next_epoch
        )
        self._arrivals = shared.implementation(Arrivals)(
            shared, settings, self, self._acks, self._permits, self._arrived
        )
        self._seeking = shared.implementation(Seeking)(self, self._leave_old_place, inclusive=settings.start_inclusive)
        self._aside: list[Frame] = []
        """What came while a seek was under way: it is of the old place, unless the seek fails."""
        self._writer_schemas = shared.implementation(WriterSchemas)(lookup, settings)
        place = shared.implementation(ReadingPlace)(settings.initial_position, inclusive=settings.start_inclusive)
        self._reading = None if settings.durable else place

    # --- from the subscription ---

    def begin_at(self, place: Place) -> None:
        if self._reading is not None:
            self._reading = self._reading.moved(place)

    def handed_over(self, inbound: Inbound) -> Handed:
        """Hand a message over to the application."""
        version = inbound.metadata.schema_version
        handed = Handed(self, inbound.entry, inbound.opened.index, inbound.redelivery_count, schema_version=version)
        if self._settings.retry_letters:
            handed.letter = letter_of(inbound.opened, self.topic, inbound.entry.position)
        if self._reading is not None:
            self._has_read(self._reading, inbound)
        self._permits.handed_over(current=inbound.session == self.registrations)
        self._redelivery.hand_over(handed)
        return handed

    def _has_read(self, reading: ReadingPlace, inbound: Inbound) -> None:
        reading.handed_over(inbound.entry.position, inbound.opened.index)

    def ack(self, handed: Handed, *, cumulative: bool) -> None:
        if self.closed:
            return
        if cumulative:
            self._acks.cumulative(handed.entry, handed.index)
        else:
            self._acks.individual(handed.entry, handed.index)
        self._redelivery.acked(handed, cumulative=cumulative)

    def acked(self, ended: Callable[[Result], None], *, cumulative: bool) -> None:
        """Finish the share that an operation has here. A consumer that was refused for good sends nothing any more."""
        if not self.closed:
            self._acks.issued(ended, cumulative=cumulative)
        else:
            ended(_CLOSED)

    def value(self, handed: Handed, read: Callable[[Result], None]) -> None:
        """Find the schema of a message for its value, which the application reads; then call `read`."""
        self._writer_schemas.find(self.topic, handed.schema_version, read)

    def nack(self, handed: Handed) -> None:
        self._redelivery.nack(handed)

    def redeliver_all(self) -> None:
        self._redelivery.everything()

    def reconsume_later(self, handed: Handed, delay_ms: int, ended: Callable[[Result], None]) -> None:
        """Post a copy of it to come again later; it is acknowledged when that is done, and redelivered otherwise."""
        assert self._letters is not None
        assert handed.letter is not None

        def posted(result: Result) -> None:
            if isinstance(result, Done):
                self.ack(handed, cumulative=False)
                self._acks.issued()
            else:
                self._redelivery.at_once(handed.entry)
            ended(result)

        self._letters.retry(handed.letter, delay_ms, posted)

    def seek(self, place: Place, sought: Callable[[Result], None]) -> None:
        """Move the subscription; acknowledgments leave before, and nothing from before is kept. If that fails, the
        consumer goes on where it was, and has lost nothing."""
        if not self.ready:
            sought(Failed(ErrorClass.TRANSPORT, "the consumer is not connected", certain=True))
            return
        self._flush_before_seek()
        self._acks.start_over()
        before = self._reading

        def ended(result: Result) -> None:
            aside, self._aside = self._aside, []
            if isinstance(result, Failed):
                self._reading = before
                for frame in aside:
                    self.message(frame)
            sought(result)

        # It is subscribed again before the seek ends, and says then where it is to begin.
        self._reading = before.moved(place) if before is not None else None
        self._seeking.begin(place, ended)

    def _flush_before_seek(self) -> None:
        self._acks.flush()

    def has_more(self, on_answer: Callable[[bool | Failed], None], *, readable: bool = False) -> None:
        """Call `on_answer` with whether the topic holds a message after this reader's position.

        With `readable`, one that came and could not be read is none.
        """
        reading = self._reading
        if reading is None:
            on_answer(Failed(ErrorClass.INVALID_CONFIG, "only a reader can be asked", certain=True))
            return

        def answered(answer: Frame | Failed) -> None:
            if isinstance(answer, Failed):
                on_answer(answer)
            else:
                is_read = readable and position_of(answer.body.last_message_id) <= self._arrivals.unreadable
                on_answer(reading.has_more(answer.body) and not is_read)

        self._ask_for_last(answered)

    def last_message_id(self, ended: Callable[[Result], None]) -> None:
        """Call `ended` with the id of the last message of the topic."""

        def answered(answer: Frame | Failed) -> None:
            if isinstance(answer, Failed):
                ended(answer)
                return
            last = answer.body.last_message_id
            ended(Done(message_id=MessageId(*position_of(last), self.partition, last.batch_index, 0)))

        self._ask_for_last(answered)

    def _ask_for_last(self, on_answer: Callable[[Frame | Failed], None]) -> None:
        """Call `on_answer` with the broker's answer about the last message of the topic."""
        if not self.ready:
            on_answer(Failed(ErrorClass.TRANSPORT, "the consumer is not connected", certain=True))
            return
        if self.version < LAST_ID_SINCE:
            on_answer(Failed(ErrorClass.OTHER, "the broker is too old to be asked for its last message", certain=True))
            return

        def answered(answer: Frame | Refusal) -> None:
            on_answer(answer.failed() if isinstance(answer, Refusal) else answer)

        self.ask(
            lambda request_id: command(
                CommandType.GET_LAST_MESSAGE_ID, consumer_id=self.consumer_id, request_id=request_id
            ),
            answered,
        )

    def pause(self) -> None:
        self._permits.pause()

    def resume(self) -> None:
        self._permits.resume()

    def wanted(self) -> None:
        """Note that the application waits for a message while the queue is empty."""
        self._permits.wanted()

    def close(self, closed: Callable[[Result], None]) -> None:
        """Flush acknowledgments, then close at the broker; pending negative ones are dropped, it redelivers at once. An
        opening that goes on fails."""
        if self.ready:
            self._flush_before_close()
        self._forget()
        self.leave(lambda refusal: closed(self._end_of_leaving(refusal)))
        self._opening_ends(_CLOSED)

    def _flush_before_close(self) -> None:
        self._acks.flush()

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
        # Closing: it stays unacknowledged and goes to the next consumer.
        if self.ready and self._seeking.drops:
            self._aside.append(frame)
        elif self.ready:
            assert self.connection is not None
            self._arrivals.message(frame, self.connection, stale=self._is_stale(frame))

    def active_changed(self, active: bool) -> None:
        """Note whether a consumer of a Failover subscription is the active one."""
        self._queue.active_changed(self.partition, active)

    def _is_stale(self, frame: Frame) -> bool:
        """Return whether a frame was sent before the request for redelivery, and read after it."""
        body = frame.body
        return bool(body.HasField("consumer_epoch") and body.consumer_epoch < self._epoch)

    def _arrived(self, entry: Entry, opened: list[Opened], metadata: MessageMetadata, redelivery_count: int) -> None:
        charged = self._charged_for(entry)
        entry.unacked &= self._acks.open_of(entry.position)
        unacked = self._ordered([message for message in opened if self._is_unacked(entry, message)])
        wanted = [message for message in unacked if self._is_behind_start(entry, message)]
        self._give_back_spare(entry, opened, self._spare(charged, unacked, wanted))
        if self._dead_letters.keep(entry, wanted, redelivery_count):
            self._move_unseen_to_dead_letter(entry, wanted)
            return
        for message in wanted:
            self._enqueue(Inbound(self, self.registrations, entry, message, metadata, redelivery_count))

    def _charged_for(self, entry: Entry) -> int:
        """Return how many permits the broker charged: one for every message that its ack_set left."""
        return entry.unacked.bit_count()

    def _is_unacked(self, entry: Entry, message: Opened) -> bool:
        return bool(entry.unacked >> (message.index or 0) & 1)

    def _ordered(self, messages: list[Opened]) -> list[Opened]:
        """Return the messages of one entry in the order to hand them over."""
        return messages

    def _spare(self, charged: int, unacked: Sequence[Opened], wanted: Sequence[Opened]) -> int:
        """Return how many of the permits charged are for messages that are not delivered."""
        del unacked
        return max(0, charged - len(wanted))

    def _give_back_spare(self, entry: Entry, opened: Sequence[Opened], spare: int) -> None:
        """Give back the permits of messages compacted away or acknowledged meanwhile.

        Those acknowledged before were never charged.
        """
        del entry, opened
        self._permits.give_back(spare)

    def _move_unseen_to_dead_letter(self, entry: Entry, messages: Sequence[Opened]) -> None:
        """Move a message that came once too often to the dead letter topic, without handing it over."""
        self._permits.give_back(len(messages))
        self._dead_letters.move_to_dead_letter(entry)

    def _enqueue(self, inbound: Inbound) -> None:
        self._queue.arrived(inbound)

    def _is_behind_start(self, entry: Entry, message: Opened) -> bool:
        """Return whether it comes after what was sought, and, with a reader, after what was delivered."""
        reading = self._reading
        return self._seeking.passes(entry.position, message.index) and (
            reading is None or reading.passes(entry.position, message.index)
        )

    # --- redelivery ---

    def _posted(self, entry: Entry, result: Result) -> None:
        """Acknowledge an entry whose dead letters have their receipts; ask for it again later if one of them failed."""
        if isinstance(result, Done):
            self._acks.individual(entry, None)
            self._acks.issued()
        else:
            self._ask_again_later(entry)

    def _ask_again_later(self, entry: Entry) -> None:
        """Ask for an entry again after a delay: at once, it would come, fail and come again without end."""
        self.shared.after(self._settings.nack_delay_ms * MS, lambda: self._redelivery.at_once(entry))

    def _next_epoch(self) -> int:
        self._epoch += 1
        return self._epoch

    def _all_again(self) -> None:
        """Drop what is prefetched: everything unacknowledged was asked for, so it would come twice."""
        self._arrivals.clear()
        self._permits.give_back(self._queue.withdraw(self))

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
            durable=settings.durable,
            initialPosition=_POSITIONS[settings.initial_position],
        )
        if not settings.individual_redelivery:
            built.subscribe.consumer_epoch = self._epoch
        if self._reading is not None:
            built.subscribe.start_message_id.CopyFrom(self._reading.start)
        state_consumer(built.subscribe, settings)
        if (schema := self._stated_schema()) is not None:
            built.subscribe.schema.CopyFrom(schema)
        return built

    def _stated_schema(self) -> pb.Schema | None:
        return stated_schema(self._settings)

    def _closure(self, request_id: int) -> BaseCommand:
        return command(CommandType.CLOSE_CONSUMER, consumer_id=self.consumer_id, request_id=request_id)

    def _enlist(self, connection: Connection) -> None:
        connection.consumers[self.consumer_id] = self

    def _delist(self, connection: Connection) -> None:
        connection.consumers.pop(self.consumer_id, None)

    def _registered(self, answer: Frame) -> None:
        del answer
        self._acks.flush()
        self._permits.registered(first=self.registrations == 1)
        self._seeking.registered()
        self._opening_ends(Done())

    def _leave_old_place(self) -> None:
        self._queue.withdraw(self)
        self._redelivery.drop()

    def _lost(self) -> None:
        self._acks.lost()
        if self._seeking.drops:
            self._drop_acks_of_old_place()
            self._redelivery.drop()
        self._aside.clear()
        self._seeking.lost()
        self._drop_prefetched()
        self._arrivals.clear()
        self._redelivery.lost()

    def _drop_acks_of_old_place(self) -> None:
        self._acks.drop()

    def _drop_prefetched(self) -> None:
        self._queue.withdraw(self)

    def _ended(self, refusal: Refusal) -> None:
        self._forget()
        failed = refusal.failed(certain=refusal.cause is Cause.SERVER)
        if self.registrations:
            self._queue.given_up(failed)
        self._opening_ends(failed)

    def _opening_ends(self, result: Result) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened(result)

    def _forget(self) -> None:
        self._seeking.ended()
        self._queue.withdraw(self)
        self._acks.drop()
        self._redelivery.drop()
        self._arrivals.clear()

    @property
    def closed(self) -> bool:
        return self.phase in (Phase.CLOSING, Phase.CLOSED)
