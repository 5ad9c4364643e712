"""Non-persistent topics: a message goes to the consumers that can take it now, and is not kept.

Nothing is stored, acknowledged or redelivered, and no ACTIVE_CONSUMER_CHANGE is sent. A consumer
without permits, or whose client does not read, and a subscription whose rate is used up, miss what comes.
"""

from __future__ import annotations

from collections.abc import Iterable

from assay_conformance.broker.backlog import Backlog
from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.dispatch import Dispatcher
from assay_conformance.broker.failover import active_of, rank
from assay_conformance.broker.host import Host
from assay_conformance.broker.names import TopicName
from assay_conformance.broker.stickiness import selector
from assay_conformance.broker.store import Entry, Store
from assay_conformance.broker.subscription import Subscription
from assay_conformance.model.policy import Policies
from assay_conformance.wire import MessageIdData, Payload
from assay_conformance.wire.pulsar_pb2 import CommandAck, CommandSubscribe, KeySharedMeta


class NoStore(Store):
    """Takes everything and keeps nothing: each entry is (0, 0)."""

    taken = False

    @property
    def is_used(self) -> bool:
        return self.taken

    def add(self, payload: Payload) -> Entry:
        self.taken = True
        return Entry(0, 0, 0, payload)


class Passing(Dispatcher):
    """Hands entries to one consumer each, as the kind of subscription chooses among those there are."""

    individual = True

    def __init__(self, host: Host, backlog: Backlog, kind: int, meta: KeySharedMeta, topic: TopicName) -> None:
        super().__init__(host, backlog)
        self._kind = kind
        self._topic = topic
        self._keys = selector(meta) if kind == CommandSubscribe.Key_Shared else None
        self._turn = 0

    def add(self, consumer: Consumer) -> None:
        if self._keys is not None:
            self._keys.add(consumer)
        self.consumers.append(consumer)
        self._changed()

    def holder(self, consumer: Consumer) -> Consumer | None:
        return self._keys.holder(consumer) if self._keys is not None else None

    def remove(self, consumer: Consumer) -> None:
        if self._keys is not None:
            self._keys.remove(consumer)
        self.consumers.remove(consumer)
        self._changed()

    def _changed(self) -> None:
        self.consumers.sort(key=rank)

    def pass_on(self, entry: Entry) -> None:
        """Send an entry to the consumer that is to have it, if it can be taken."""
        consumer = self._choose(entry)
        able = consumer is not None and consumer.is_able and entry.messages > 0
        if able and consumer is not None and self._backlog.quota(1):
            self._backlog.spend(entry, consumer.deliver(entry, unacked=None))
        else:
            self._miss(entry, able=able)

    def _miss(self, entry: Entry, *, able: bool) -> None:
        """Drop an entry that no consumer can take, or, where its consumer is `able`, that the rate does not allow."""

    def _choose(self, entry: Entry) -> Consumer | None:
        if self._keys is not None:
            return self._keys.select(entry.key_hash)
        if self._kind != CommandSubscribe.Shared:
            return active_of(self.consumers, self._topic) if self.consumers else None
        able = [consumer for consumer in self.consumers if consumer.is_able]
        self._turn += 1
        return able[self._turn % len(able)] if able else None

    def flow(self, consumer: Consumer, permits: int) -> None:
        consumer.permits += permits

    def read(self) -> None:
        """Do nothing: there is nothing to read, to send again or to acknowledge."""

    def redeliver(self, consumer: Consumer, indexes: Iterable[int] | None, epoch: int | None) -> None: ...

    def acked(self, consumer: Consumer, index: int) -> None: ...

    def members_acked(self, consumer: Consumer, index: int, left: int) -> None: ...

    def settle(self) -> None: ...

    def take_policies(self, policies: Policies) -> None: ...


class TransientSubscription(Subscription):
    """A subscription without a backlog: it has nothing to seek in."""

    def stored(self, entry: Entry) -> None:
        assert isinstance(self.dispatcher, Passing)
        self.dispatcher.pass_on(entry)

    def acknowledge(self, consumer: Consumer, ack: CommandAck) -> None:
        """Do nothing: no entry waits for it."""

    def seek(self, index: int, unacked: int | None = None) -> None:
        """Do nothing: there is nothing to go back to, and the consumers stay."""

    def redeliver(self, consumer: Consumer, positions: Iterable[MessageIdData], epoch: int | None) -> None:
        """Redeliver nothing: what was sent is not kept."""

    def _dispatcher(self, kind: int, meta: KeySharedMeta) -> Dispatcher:
        return self._host.implementation(Passing)(self._host, self.backlog, kind, meta, self._topic)
