"""Who gets the next entry.

Exclusive and Failover have one active consumer, which gets everything in order; a change of it, or a redelivery, starts
again at the first entry not acknowledged. Shared gives each entry to one of the consumers with permits, round robin,
and redelivers single entries; what is redelivered goes out before what is new. Redelivery counts exist in Shared only
and live as long as one consumer is there.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable

from assay_conformance.broker import replies
from assay_conformance.broker.backlog import Backlog
from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.host import Host
from assay_conformance.broker.rules import FAILOVER_DELAY_MS, ROUND_ROBIN_ENTRIES
from assay_conformance.broker.store import Entry
from assay_conformance.broker.timers import Timer
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

    @abstractmethod
    def redeliver(self, consumer: Consumer, indexes: Iterable[int] | None, epoch: int | None) -> None:
        """Send again what this consumer has not acknowledged: these entries, or everything (None)."""

    @abstractmethod
    def read(self) -> None:
        """Send what can be sent now."""

    @abstractmethod
    def acked(self, consumer: Consumer, index: int) -> None:
        """An entry was acknowledged as a whole."""

    def flow(self, consumer: Consumer, permits: int) -> None:
        consumer.permits += permits
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
    """Exclusive and Failover. In Failover a while passes between choosing another active consumer and its first entry.

    `partition` spreads the active consumers of a partitioned topic over those that are there.
    """

    individual = False

    def __init__(self, host: Host, backlog: Backlog, *, failover: bool, partition: int) -> None:
        super().__init__(host, backlog)
        self.active: Consumer | None = None
        self._failover = failover
        self._partition = max(partition, 0)
        self._switch: Timer | None = None

    def add(self, consumer: Consumer) -> None:
        self.consumers.append(consumer)
        if not self._choose() and self._failover:
            self._tell(consumer)

    def remove(self, consumer: Consumer) -> None:
        self.consumers.remove(consumer)
        if self.consumers:
            self._choose()
        else:
            self.active = None

    def redeliver(self, consumer: Consumer, _indexes: Iterable[int] | None, epoch: int | None) -> None:
        # Single entries cannot come again without breaking the order: everything does.
        if consumer is not self.active or (epoch is not None and epoch < (consumer.epoch or 0)):
            return
        if epoch is not None:
            consumer.epoch = epoch
        self._cursor.rewind()
        self.read()

    def acked(self, consumer: Consumer, index: int) -> None:
        """Nothing is kept of single entries here."""

    def read(self) -> None:
        consumer = self.active
        while consumer is not None and self._switch is None and consumer.permits > 0:
            count = self._backlog.quota(consumer.permits)
            entries = self._backlog.read(count) if count else []
            if not entries:
                return
            for entry in entries:
                if consumer.permits <= 0:
                    self._cursor.next = entry.index
                    break
                self._send(consumer, entry, epoch=consumer.epoch)

    def _choose(self) -> bool:
        """Make the first by priority, then by name, the active one; False when it already was."""
        self.consumers.sort(key=lambda consumer: (consumer.priority, consumer.name))
        first = [consumer for consumer in self.consumers if consumer.priority == self.consumers[0].priority]
        chosen = first[self._partition % len(first)]
        if chosen is self.active:
            return False
        self.active = chosen
        if not self._failover:
            self._start()
        elif self._switch is None:
            self._switch = self._host.after(FAILOVER_DELAY_MS, self._start)
        return True

    def _start(self) -> None:
        self._switch = None
        if self.active is None:
            return
        self._cursor.rewind()
        if self._failover:
            for consumer in self.consumers:
                self._tell(consumer)
        self.read()

    def _tell(self, consumer: Consumer) -> None:
        consumer.session.notify(
            replies.reply(
                CommandType.ACTIVE_CONSUMER_CHANGE,
                consumer_id=consumer.consumer_id,
                is_active=consumer is self.active,
            )
        )


class Shared(Dispatcher):
    """Every consumer with permits has its turn."""

    individual = True

    def __init__(self, host: Host, backlog: Backlog) -> None:
        super().__init__(host, backlog)
        self._turn = 0
        self._replay: list[int] = []
        self._replayed: set[int] = set()
        self._redeliveries: dict[int, int] = {}

    def add(self, consumer: Consumer) -> None:
        if not self.consumers:
            self._cursor.rewind()
        self.consumers.append(consumer)
        self.consumers.sort(key=lambda known: known.priority)

    def remove(self, consumer: Consumer) -> None:
        self.consumers.remove(consumer)
        if self.consumers:
            self._take_back(consumer, list(consumer.pending))
            self.read()
        else:
            self._replay.clear()
            self._replayed.clear()
            self._redeliveries.clear()

    def redeliver(self, consumer: Consumer, indexes: Iterable[int] | None, _epoch: int | None) -> None:
        wanted = list(consumer.pending) if indexes is None else indexes
        self._take_back(consumer, [index for index in wanted if index in consumer.pending])
        self.read()

    def acked(self, consumer: Consumer, index: int) -> None:
        for holder in (consumer, *self.consumers):
            if holder.pending.pop(index, None) is not None:
                break
        self._replayed.discard(index)
        self._redeliveries.pop(index, None)

    def read(self) -> None:
        while True:
            permits = sum(consumer.permits for consumer in self.consumers if consumer.permits > 0)
            count = self._backlog.quota(permits) if permits else 0
            if not count:
                return
            entries = self._next_replay(count) or self._backlog.read(count)
            if not entries:
                return
            self._share(entries)

    def _take_back(self, consumer: Consumer, indexes: list[int]) -> None:
        for index in indexes:
            del consumer.pending[index]
            self._redeliveries[index] = self._redeliveries.get(index, 0) + 1
            self._put_back(index)

    def _put_back(self, index: int) -> None:
        if index not in self._replayed:
            self._replayed.add(index)
            heapq.heappush(self._replay, index)

    def _next_replay(self, count: int) -> list[Entry]:
        found: list[Entry] = []
        while self._replay and len(found) < count:
            index = heapq.heappop(self._replay)
            # An acknowledgement takes an index out of the set only.
            if index in self._replayed:
                self._replayed.remove(index)
                found.append(self._backlog.store.entries[index])
        return found

    def _share(self, entries: list[Entry]) -> None:
        position = 0
        while position < len(entries):
            consumer = self._next_consumer()
            if consumer is None:
                for entry in entries[position:]:
                    self._put_back(entry.index)
                return
            end = position + ROUND_ROBIN_ENTRIES
            while position < min(end, len(entries)) and consumer.permits > 0:
                entry = entries[position]
                charged = self._send(consumer, entry, redeliveries=self._redeliveries.get(entry.index, 0))
                if charged:
                    consumer.pending[entry.index] = charged
                position += 1

    def _next_consumer(self) -> Consumer | None:
        """The next in turn with permits, among those of the best priority that have any."""
        able = [consumer for consumer in self.consumers if consumer.permits > 0]
        if not able:
            return None
        best = [consumer for consumer in able if consumer.priority == able[0].priority]
        self._turn += 1
        return best[self._turn % len(best)]
