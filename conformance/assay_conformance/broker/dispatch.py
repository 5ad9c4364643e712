"""Who gets the next entry: what every kind of subscription has in common, and those with one active consumer.

Exclusive and Failover have one, which gets everything in order; a change of it, or a redelivery, starts again at the
first entry not acknowledged. They keep no redelivery counts and know no delay.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from assay_conformance.broker import replies
from assay_conformance.broker.backlog import Backlog
from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.failover import active_of, rank
from assay_conformance.broker.host import Host
from assay_conformance.broker.names import TopicName
from assay_conformance.broker.store import Entry
from assay_conformance.broker.timers import Timer
from assay_conformance.model.policy import Policies
from assay_conformance.wire import CommandType


class Dispatcher(ABC):
    """Moves entries from a backlog to consumers."""

    individual: bool
    """Whether entries are acknowledged and redelivered one by one; a cumulative ACK is ignored then."""

    def __init__(self, host: Host, backlog: Backlog) -> None:
        self.consumers: list[Consumer] = []
        self._host = host
        self._backlog = backlog
        self._cursor = backlog.cursor
        backlog.wake = self.read

    @abstractmethod
    def add(self, consumer: Consumer) -> None: ...

    @abstractmethod
    def remove(self, consumer: Consumer) -> None: ...

    def holder(self, _consumer: Consumer) -> Consumer | None:
        """Return the consumer that has a range of keys which this one asks for, where ranges are asked for.

        Raises RefusalError for ranges that cannot be granted.
        """
        return None

    @abstractmethod
    def redeliver(self, consumer: Consumer, indexes: Iterable[int] | None, epoch: int | None) -> None:
        """Send again what this consumer has not acknowledged: these entries, or everything (None)."""

    @abstractmethod
    def read(self) -> None:
        """Send what can be sent now."""

    @abstractmethod
    def acked(self, consumer: Consumer, index: int) -> None:
        """Note that an entry was acknowledged as a whole."""

    @abstractmethod
    def members_acked(self, consumer: Consumer, index: int, left: int) -> None:
        """Note that members of a batch were acknowledged, and so many are left."""

    @abstractmethod
    def settle(self) -> None:
        """Send what an ACK made possible, once all of it was served."""

    @abstractmethod
    def take_policies(self, policies: Policies) -> None:
        """Take changed policies."""

    def flow(self, consumer: Consumer, permits: int) -> None:
        consumer.permits += permits
        self.read()

    def drained(self) -> None:
        """Go on after a connection with a consumer of this subscription became writable again."""
        self.read()

    def _send(self, consumer: Consumer, entry: Entry, *, redeliveries: int = 0, epoch: int | None = None) -> int:
        """Send one entry. One whose metadata cannot be decoded is acknowledged instead: no consumer could take it."""
        if not entry.messages:
            self._cursor.ack(entry.index)
            return 0
        unacked = self._cursor.partial.get(entry.index)
        charged = consumer.deliver(entry, unacked=unacked, redeliveries=redeliveries, epoch=epoch)
        self._backlog.spend(entry, charged)
        return charged


class SingleActive(Dispatcher):
    """Exclusive and Failover. In Failover a while passes between an active consumer's choice and its first entry."""

    individual = False

    def __init__(self, host: Host, backlog: Backlog, *, failover: bool, topic: TopicName) -> None:
        super().__init__(host, backlog)
        self.active: Consumer | None = None
        self._failover = failover
        self._topic = topic
        self._switch: Timer | None = None

    def add(self, consumer: Consumer) -> None:
        self.consumers.append(consumer)
        if not self._choose() and self._failover:
            notify_active(consumer, consumer is self.active)

    def remove(self, consumer: Consumer) -> None:
        self.consumers.remove(consumer)
        if self.consumers:
            self._choose()
        else:
            self.active = None

    def redeliver(self, consumer: Consumer, _indexes: Iterable[int] | None, epoch: int | None) -> None:
        # Single entries cannot come again without breaking the order: everything does.
        if epoch is not None:
            if epoch < (consumer.epoch or 0):
                return
            # Also of one whose turn it is not: it drops what comes in an earlier one when it has its turn.
            consumer.epoch = epoch
        if consumer is not self.active:
            return
        self._backlog.rewind()
        self.read()

    def acked(self, consumer: Consumer, index: int) -> None:
        """Do nothing: single entries and their members are not tracked here."""

    def members_acked(self, consumer: Consumer, index: int, left: int) -> None: ...

    def settle(self) -> None:
        """Do nothing: an acknowledgment makes nothing possible here."""

    def take_policies(self, policies: Policies) -> None:
        """Do nothing: no policy concerns subscriptions of this kind."""

    def read(self) -> None:
        consumer = self.active
        while consumer is not None and self._switch is None and consumer.is_able:
            count = self._backlog.quota(consumer.permits)
            entries = self._backlog.read(count, compacted=consumer.reads_compacted) if count else []
            if not entries:
                return
            # What was read is sent, whatever its batches cost: permits only say how many entries are read. What the
            # client does not read is not sent: it is read again.
            for entry in entries:
                if self._holds_back(entry):
                    return
                if not consumer.session.is_writable:
                    self._cursor.next = entry.index
                    return
                # What is compacted is read on another way, which knows no epochs.
                self._send(consumer, entry, epoch=None if consumer.reads_compacted else consumer.epoch)

    def _holds_back(self, entry: Entry) -> bool:
        """Return whether an entry and all later ones wait: none does, delayed or not."""
        del entry
        return False

    def _choose(self) -> bool:
        """Make another one the active one; False when it already was."""
        self.consumers.sort(key=rank)
        chosen = active_of(self.consumers, self._topic)
        if chosen is self.active:
            return False
        self.active = chosen
        if not self._failover:
            self._start()
        elif self._switch is None:
            self._switch = self._host.after(self._host.settings.failover_delay_ms, self._start)
        return True

    def _start(self) -> None:
        self._switch = None
        if self.active is None:
            return
        self._start_over()
        if self._failover:
            for consumer in self.consumers:
                notify_active(consumer, consumer is self.active)
        self.read()

    def _start_over(self) -> None:
        self._backlog.rewind()


def notify_active(consumer: Consumer, active: bool) -> None:
    """Tell a Failover consumer whether it is the one."""
    consumer.session.notify(
        replies.reply(CommandType.ACTIVE_CONSUMER_CHANGE, consumer_id=consumer.consumer_id, is_active=active)
    )
