"""A subscription: a cursor, and whatever kind of dispatcher its consumers asked for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from assay_conformance.broker import replies
from assay_conformance.broker.backlog import Backlog
from assay_conformance.broker.consumer import Consumer, Counts
from assay_conformance.broker.cursor import Cursor
from assay_conformance.broker.cursor_ledger import CursorLedger
from assay_conformance.broker.dispatch import Dispatcher, SingleActive
from assay_conformance.broker.host import Host
from assay_conformance.broker.key_sharing import KeyShared
from assay_conformance.broker.names import TopicName
from assay_conformance.broker.rules import RefusalError
from assay_conformance.broker.sharing import Shared, Sharing
from assay_conformance.broker.store import Entry, Store
from assay_conformance.broker.throttle import DispatchLimiter
from assay_conformance.model.policy import Policies
from assay_conformance.wire import CommandType, MessageIdData
from assay_conformance.wire.pulsar_pb2 import CommandAck, CommandSubscribe, KeySharedMeta, ServerError


class Subscription:
    """One name on one topic. `terminated` is set by the topic once nothing more will be stored. `orphaned`: not
    durable, and left alone since a SEEK; it takes the next consumer, durable or not. `properties` and `replicated`
    are what the consumer that made it asked for: nothing here goes by them. `active_ms` is when the last consumer came
    or left, `counts` what was sent to those that have left."""

    def __init__(self, host: Host, name: str, store: Store, cursor: Cursor, *, durable: bool, topic: TopicName) -> None:
        self.name = name
        self.durable = durable
        self.cursor = cursor
        self.backlog = host.implementation(Backlog)(host, store, cursor)
        self._written = host.implementation(CursorLedger)(host, cursor)
        self.kind: int = CommandSubscribe.Exclusive
        self.terminated = False
        self.orphaned = False
        self.replicated = False
        self.properties: dict[str, str] = {}
        self.counts = Counts()
        self.active_ms = host.unix_ms
        self._host = host
        self._store = store
        self._topic = topic
        self._told_end = False
        self.dispatcher: Dispatcher = self._dispatcher(self.kind, KeySharedMeta())

    @property
    def consumers(self) -> list[Consumer]:
        return self.dispatcher.consumers

    @property
    def outlives_consumers(self) -> bool:
        """Whether it stays when its last consumer has left."""
        return self.durable

    @property
    def active(self) -> Consumer | None:
        """The one that gets everything, where there is one."""
        return self.dispatcher.active if isinstance(self.dispatcher, SingleActive) else None

    def holder(self, consumer: Consumer, kind: int) -> Consumer | None:
        """Return the consumer that has to go before another one of this kind can join.

        That is the one that an Exclusive subscription has, or one with a range of keys that the other asks for.
        """
        if kind != self.kind:
            return None
        if kind == CommandSubscribe.Key_Shared:
            return self.dispatcher.holder(consumer) if self._shares_keys_alike(consumer) else None
        return self.consumers[0] if self.consumers and kind == CommandSubscribe.Exclusive else None

    def refusal_beside(self, holder: Consumer) -> RefusalError:
        """Return why no other consumer is admitted while this holder is attached."""
        if self.kind == CommandSubscribe.Key_Shared:
            return RefusalError(ServerError.ConsumerAssignError, f"Range conflict with consumer {holder.name}")
        return RefusalError(ServerError.ConsumerBusy, "Exclusive consumer is already connected")

    def check_place(self, consumer: Consumer, kind: int) -> None:
        """Raise RefusalError while consumers of another kind are attached, and for one too many.

        An Exclusive subscription never has a second one, whatever the limit is.
        """
        if self.consumers and not self._is_of(consumer, kind):
            raise RefusalError(ServerError.ConsumerBusy, "Subscription is of different type")
        limit = self.backlog.policies.max_consumers_per_subscription or 0
        if kind != CommandSubscribe.Exclusive and 0 < limit <= len(self.consumers):
            raise RefusalError(ServerError.ConsumerBusy, "Subscription reached max consumers limit")

    def join(self, consumer: Consumer, kind: int) -> None:
        """Take a consumer in, for which there is a place. Raises RefusalError for ranges of keys that cannot be
        granted."""
        if not self._is_of(consumer, kind):
            self.kind = kind
            self.dispatcher = self._dispatcher(kind, consumer.key_shared)
        self.dispatcher.add(consumer)
        self.active_ms = self._host.unix_ms

    def _is_of(self, consumer: Consumer, kind: int) -> bool:
        return kind == self.kind and self._shares_keys_alike(consumer)

    def _shares_keys_alike(self, consumer: Consumer) -> bool:
        meta = self.dispatcher.meta if isinstance(self.dispatcher, KeyShared) else consumer.key_shared
        wanted = consumer.key_shared
        return (meta.keySharedMode, meta.allowOutOfOrderDelivery) == (
            wanted.keySharedMode,
            wanted.allowOutOfOrderDelivery,
        )

    def total(self) -> Counts:
        """Return what was sent to all its consumers, those that have left included."""
        return sum((consumer.counts for consumer in self.consumers), self.counts)

    def leave(self, consumer: Consumer) -> None:
        self.counts += consumer.counts
        self.dispatcher.remove(consumer)
        self.active_ms = self._host.unix_ms

    def stored(self, _entry: Entry) -> None:
        """Dispatch an entry that was appended."""
        if self.dispatcher.consumers:
            self.dispatcher.read()

    def flow(self, consumer: Consumer, permits: int) -> None:
        consumer.counts.flow_ms = self._host.unix_ms
        self.dispatcher.flow(consumer, permits)
        self.notify_end()

    def acknowledge(self, consumer: Consumer, ack: CommandAck) -> None:
        """Serve an ACK. A cumulative one on Shared, or one that does not name exactly one id, changes nothing."""
        consumer.counts.acked_ms = self._host.unix_ms
        self._written.catch_up()
        if ack.ack_type == CommandAck.Individual:
            for position in ack.message_id:
                if self._store.is_unwritten(position):
                    # What is not stored yet ends it: the rest is not looked at.
                    break
                self._ack_one(consumer, position)
        elif self.takes_cumulative(ack):
            self._ack_up_to(ack.message_id[0])
        self._written.changed()
        self.dispatcher.settle()
        if self.terminated:
            self.notify_end()

    def takes_cumulative(self, ack: CommandAck) -> bool:
        return self._names_one(ack) and not self._is_shared

    def _names_one(self, ack: CommandAck) -> bool:
        return len(ack.message_id) == 1

    @property
    def _is_shared(self) -> bool:
        return self.kind in (CommandSubscribe.Shared, CommandSubscribe.Key_Shared)

    def _ack_one(self, consumer: Consumer, position: MessageIdData) -> None:
        index = self._store.find(position.ledgerId, position.entryId)
        if index is None:
            return
        unacked = self._unacked_by(position, index)
        if not unacked:
            whole = self.cursor.ack(index)
        elif self._host.settings.batch_index_acks:
            whole = self.cursor.ack_members(index, unacked)
        else:
            return
        if whole:
            self.dispatcher.acked(consumer, index)
        elif index in self.cursor.partial:
            self.dispatcher.members_acked(consumer, index, self.cursor.partial[index].bit_count())

    def _unacked_by(self, position: MessageIdData, index: int) -> int:
        """Return the messages of entry `index` that an ACK of this position leaves, as bits."""
        del index
        return replies.ack_bits(position.ack_set) if position.ack_set else 0

    def _ack_up_to(self, position: MessageIdData) -> None:
        index = self._store.find(position.ledgerId, position.entryId)
        if index is None:
            return
        unacked = replies.ack_bits(position.ack_set)
        if not unacked:
            self.cursor.ack_up_to(index)
            return
        self.cursor.ack_up_to(index - 1)
        if self._host.settings.batch_index_acks:
            self.cursor.ack_members_up_to(index, unacked)

    def redeliver(self, consumer: Consumer, positions: Iterable[MessageIdData], epoch: int | None) -> None:
        """Serve a REDELIVER; no positions: everything this consumer has."""
        found = [self._store.find(position.ledgerId, position.entryId) for position in positions]
        indexes = [index for index in found if index is not None] if found else None
        self.dispatcher.redeliver(consumer, indexes, epoch)

    def seek(self, index: int, unacked: int | None = None) -> None:
        """Start again at an entry, or inside it; all consumers are closed and have to subscribe again."""
        self.close_consumers(None)
        self.orphaned = not self.durable
        self.cursor.reset(max(index, self._store.deleted))
        if unacked is not None and index < len(self._store.entries):
            self.cursor.ack_members(index, unacked)
        self._written.write()

    def delayed(self) -> int:
        """Return how many entries wait for their time of delivery."""
        return len(self.dispatcher.delayed) if isinstance(self.dispatcher, Sharing) else 0

    def backlog_bytes(self) -> int:
        """Return the bytes of the entries that are not acknowledged."""
        waiting = self._store.entries[self.cursor.mark :]
        return sum(len(entry.payload.block) for entry in waiting if not self.cursor.is_acked(entry.index))

    def skip(self, entries: int) -> None:
        """Acknowledge the first so many entries that are not, whichever consumer has them."""
        self._written.catch_up()
        stored = len(self._store.entries)
        left = (index for index in range(self.cursor.mark, stored) if not self.cursor.is_acked(index))
        for index in list(islice(left, entries)):
            self._ack_for_all(index)
        self._settle()

    def skip_before(self, end: int) -> None:
        """Acknowledge everything below entry `end`, whichever consumer has it."""
        self._written.catch_up()
        for index in range(self.cursor.mark, end):
            self._ack_for_all(index)
        self._settle()

    def _ack_for_all(self, index: int) -> None:
        if self.cursor.ack(index) and self.consumers:
            self.dispatcher.acked(self.consumers[0], index)

    def _settle(self) -> None:
        self._written.changed()
        self.dispatcher.settle()
        self.notify_end()

    def close_consumers(self, url: str | None) -> None:
        """Send every consumer away, to the broker at `url` where that is known."""
        # Closing one may end its connection, and take others with it.
        while self.consumers:
            consumer = self.consumers[0]
            # It is notified first: its unacknowledged messages go to the others at once.
            consumer.session.close_consumer(consumer.consumer_id, url)
            self.leave(consumer)

    def limit(self, limiters: tuple[DispatchLimiter, ...]) -> None:
        self.backlog.limiters = limiters
        self.dispatcher.read()

    def take_policies(self, policies: Policies) -> None:
        self.backlog.policies = policies
        self.dispatcher.take_policies(policies)
        self.dispatcher.settle()

    def reload(self, *, crashed: bool) -> None:
        """Forget what a broker keeps in memory only, batch-index acknowledgements among it; after a crash also what
        was not written."""
        if not crashed:
            self._written.close()
        self._restore()
        self.cursor.rewind()
        self.backlog.close()
        self._told_end = False
        self.dispatcher = self._dispatcher(self.kind, KeySharedMeta())

    def _restore(self) -> None:
        self._written.restore(self._store.deleted)

    def notify_end(self) -> None:
        """Tell the consumers that everything of a terminated topic is acknowledged.

        Once a load: in recorded traffic one that comes back with nothing to read gets no second message.
        """
        if self._told_end or not self.terminated or self.cursor.backlog(len(self._store.entries)):
            return
        for consumer in self.consumers:
            self._told_end = True
            consumer.session.notify(replies.reply(CommandType.REACHED_END_OF_TOPIC, consumer_id=consumer.consumer_id))

    def _dispatcher(self, kind: int, meta: KeySharedMeta) -> Dispatcher:
        if kind == CommandSubscribe.Shared:
            return self._host.implementation(Shared)(self._host, self.backlog)
        if kind == CommandSubscribe.Key_Shared:
            return self._host.implementation(KeyShared)(self._host, self.backlog, meta)
        failover, made = kind == CommandSubscribe.Failover, self._host.implementation(SingleActive)
        return made(self._host, self.backlog, failover=failover, topic=self._topic)
