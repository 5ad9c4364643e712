"""Shared subscriptions: every consumer with permits has its turn; and what they have in common with Key_Shared ones.

Entries are acknowledged and redelivered one by one, and what waits to be sent again goes out before what is new.
Redelivery counts say how often a consumer asked for it again, and live as long as one is there.
"""

from __future__ import annotations

import heapq
from abc import abstractmethod
from collections.abc import Iterable
from math import ceil

from assay_conformance.broker.backlog import Backlog
from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.delayed import Delayed
from assay_conformance.broker.dispatch import Dispatcher
from assay_conformance.broker.host import Host
from assay_conformance.broker.rules import (
    LOOK_AHEAD_PER_SUBSCRIPTION,
    MAX_UNACKED_PER_CONSUMER,
    MAX_UNACKED_PER_SUBSCRIPTION,
    ROUND_ROBIN_ENTRIES,
)
from assay_conformance.broker.store import Entry
from assay_conformance.model.policy import DelayedDelivery, Policies


class Replay:
    """Entries that were read and have to be sent, again or still; first stored, first sent."""

    __slots__ = ("_heap", "_members")

    def __init__(self) -> None:
        self._heap: list[int] = []
        self._members: set[int] = set()

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, index: int) -> bool:
        return index in self._members

    def put(self, index: int) -> None:
        if index not in self._members:
            self._members.add(index)
            heapq.heappush(self._heap, index)

    def discard(self, index: int) -> None:
        """Remove an acknowledged entry, from the set only: `take` passes over the rest."""
        self._members.discard(index)

    def take(self, count: int) -> list[int]:
        found: list[int] = []
        while self._heap and len(found) < count:
            index = heapq.heappop(self._heap)
            if index in self._members:
                self._members.remove(index)
                found.append(index)
        return found

    def clear(self) -> None:
        self._heap.clear()
        self._members.clear()


class Sharing(Dispatcher):
    """A consumer with too many messages unacknowledged gets no more until it has acknowledged half of them. With too
    many of the subscription as a whole nothing more is read; what was read by then is still sent, as Pulsar does."""

    individual = True

    def __init__(self, host: Host, backlog: Backlog) -> None:
        super().__init__(host, backlog)
        self.unacked = 0
        self.blocked = False
        self.delayed = host.implementation(Delayed)(host, self.read)
        self.replay = Replay()
        self._redeliveries: dict[int, int] = {}
        self._freed = False
        self._idle = False
        self._entries = backlog.store.entries
        self.take_policies(backlog.policies)

    def take_policies(self, policies: Policies) -> None:
        self._most = _or(policies.max_unacked_per_consumer, MAX_UNACKED_PER_CONSUMER)
        self._most_together = _or(policies.max_unacked_per_subscription, MAX_UNACKED_PER_SUBSCRIPTION)
        self.delayed.take(policies.delayed_delivery or DelayedDelivery())
        for consumer in self.consumers:
            consumer.blocked = consumer.blocked and 0 < self._most <= consumer.unacked
            self._freed = True
        self.blocked = self.blocked and 0 < self._most_together <= self.unacked

    @abstractmethod
    def _pick(self, entry: Entry) -> Consumer | None:
        """Return the consumer that gets this entry now; None if it has to wait."""

    def _begin(self, entries: list[Entry]) -> None:
        """Prepare for sending these entries, which were read."""

    # --- consumers --------------------------------------------------------------------------------------------------

    def add(self, consumer: Consumer) -> None:
        if not self.consumers:
            self._backlog.rewind()
        self.consumers.append(consumer)
        self.consumers.sort(key=lambda known: known.priority)
        self._idle = False

    def remove(self, consumer: Consumer) -> None:
        self.consumers.remove(consumer)
        if not self.consumers:
            self.clear()
        elif consumer.pending:
            # With nothing out at it, a real broker reads when something else happens.
            self._take_back_all(consumer)

    def clear(self) -> None:
        """Forget everything that is not in the cursor."""
        self.unacked = 0
        self.blocked = False
        self.replay.clear()
        self.delayed.clear()
        self._redeliveries.clear()

    def flow(self, consumer: Consumer, permits: int) -> None:
        self._idle = False
        super().flow(consumer, permits)

    def drained(self) -> None:
        self._idle = False
        super().drained()

    def redeliver(self, consumer: Consumer, indexes: Iterable[int] | None, _epoch: int | None) -> None:
        wanted = list(consumer.pending) if indexes is None else indexes
        held = [index for index in dict.fromkeys(wanted) if index in consumer.pending]
        self._take_back(consumer, held)
        for index in held:
            self._count_redelivery(index)
        consumer.blocked = False
        self.read()

    def _take_back_all(self, consumer: Consumer) -> None:
        """Give what is out at a consumer that leaves to the others."""
        self._take_back(consumer, list(consumer.pending))
        self.read()

    def _count_redelivery(self, index: int) -> None:
        self._redeliveries[index] = self._redeliveries.get(index, 0) + 1

    # --- acknowledgements -------------------------------------------------------------------------------------------

    def acked(self, consumer: Consumer, index: int) -> None:
        self.replay.discard(index)
        if self._redeliveries:
            self._redeliveries.pop(index, None)
        holder = self._holder(consumer, index)
        if holder is not None:
            self._let_go(holder, index)

    def members_acked(self, consumer: Consumer, index: int, left: int) -> None:
        holder = self._holder(consumer, index)
        if holder is not None:
            gone = holder.pending[index] - left
            holder.pending[index] = left
            self._reduce(holder, gone)

    def settle(self) -> None:
        if self._freed:
            self._freed = False
            self._idle = False
            self.read()

    def _holder(self, consumer: Consumer, index: int) -> Consumer | None:
        if index in consumer.pending:
            return consumer
        return next((holder for holder in self.consumers if index in holder.pending), None)

    def _let_go(self, holder: Consumer, index: int) -> None:
        """Note that an entry is not out at this consumer any more."""
        self._reduce(holder, holder.pending.pop(index))

    def _reduce(self, holder: Consumer, messages: int) -> None:
        holder.unacked -= messages
        self.unacked -= messages
        if holder.blocked and holder.unacked <= self._most // 2:
            holder.blocked = False
            self._freed = True
        if self.blocked and self.unacked < self._most_together // 2:
            self.blocked = False
            self._freed = True

    def _take_back(self, consumer: Consumer, indexes: list[int]) -> None:
        """Take entries back from this consumer; they have to be sent again."""
        self._idle = False
        for index in indexes:
            self._let_go(consumer, index)
            self.replay.put(index)

    # --- sending ----------------------------------------------------------------------------------------------------

    def read(self) -> None:
        for index in self.delayed.due():
            self.replay.put(index)
            self._idle = False
        if self.replay and not self._idle:
            self._send_again()
        self._send_new()

    def _quota(self, *, again: bool = False) -> int:
        """Return how many entries may be read now."""
        if self.blocked:
            return 0
        permits = sum(consumer.permits for consumer in self.consumers if consumer.is_able)
        return self._backlog.quota(permits, again=again) if permits else 0

    def _room(self, consumer: Consumer) -> int:
        """Return how many messages a consumer may still be sent."""
        return min(consumer.permits, self._most - consumer.unacked) if self._most > 0 else consumer.permits

    def _send_again(self) -> None:
        """Go once over what waits to be sent again. If none of it can be sent, it stays until something changes."""
        stuck: list[int] = []
        while count := self._quota(again=True):
            taken = self.replay.take(count)
            if not taken:
                self._idle = True
                break
            self._begin([self._entries[index] for index in taken])
            left = [self._entries[index] for index in taken if not self._cursor.is_acked(index)]
            stuck += [entry.index for entry in left if not self._offer(entry)]
        for index in stuck:
            self.replay.put(index)

    def _send_new(self) -> None:
        while len(self.replay) < self._look_ahead and (count := self._quota()):
            entries = self._backlog.read(count)
            if not entries:
                return
            self._begin(entries)
            for entry in entries:
                if not self._offer(entry):
                    self.replay.put(entry.index)

    @property
    def _look_ahead(self) -> int:
        """How many entries may wait while others after them are sent."""
        return LOOK_AHEAD_PER_SUBSCRIPTION

    def _offer(self, entry: Entry) -> bool:
        """Send an entry, or keep it until its time; False when it has to wait for a consumer."""
        if not entry.is_plain and self.delayed.keeps(entry):
            return True
        consumer = self._pick(entry)
        if consumer is None:
            return False
        redeliveries = self._redeliveries.get(entry.index, 0) if self._redeliveries else 0
        charged = self._send(consumer, entry, redeliveries=redeliveries)
        if charged:
            self._sent(consumer, entry, charged)
        return True

    def _sent(self, consumer: Consumer, entry: Entry, messages: int) -> None:
        consumer.pending[entry.index] = messages
        consumer.unacked += messages
        self.unacked += messages
        self._block(consumer)

    def _block(self, consumer: Consumer) -> None:
        """Send no more to a consumer that has too much unacknowledged."""
        if 0 < self._most <= consumer.unacked:
            consumer.blocked = True
        if 0 < self._most_together <= self.unacked:
            self.blocked = True


class Shared(Sharing):
    """Round robin, some entries each; all chunks of a message go to the consumer that got the first."""

    def __init__(self, host: Host, backlog: Backlog) -> None:
        super().__init__(host, backlog)
        self._turn = 0
        self._left = 0
        self._remaining = 0
        self._average = 1
        self._current: Consumer | None = None
        self._chunks: dict[str, Consumer] = {}

    @property
    def _look_ahead(self) -> int:
        """Nothing new is read while anything waits: an orphaned chunk stops the subscription."""
        return 1

    def remove(self, consumer: Consumer) -> None:
        self._chunks = {uuid: owner for uuid, owner in self._chunks.items() if owner is not consumer}
        super().remove(consumer)

    def _begin(self, entries: list[Entry]) -> None:
        self._current = None
        self._remaining = sum(entry.messages for entry in entries)
        self._average = max(self._remaining // len(entries), 1)

    def _sent(self, consumer: Consumer, entry: Entry, messages: int) -> None:
        super()._sent(consumer, entry, messages)
        self._remaining -= messages

    def _pick(self, entry: Entry) -> Consumer | None:
        metadata = None if entry.is_plain else entry.metadata
        if metadata is None or not metadata.uuid:
            return self._next()
        owner = self._chunks.get(metadata.uuid)
        if owner is None:
            # One whose first chunk was not dispatched waits for it (SharedConsumerAssignor).
            if metadata.chunk_id:
                return None
            owner = self._next()
        elif not owner.is_able:
            return None
        elif owner is self._current and self._left:
            self._left -= 1  # Of what it had permits for when its turn began.
        if owner is not None and metadata.chunk_id < metadata.num_chunks_from_msg - 1:
            self._chunks[metadata.uuid] = owner
        else:
            self._chunks.pop(metadata.uuid, None)
        return owner

    def _next(self) -> Consumer | None:
        """Return the consumer whose turn it is, among those of the best priority that have permits.

        How many entries a turn has is set when it begins, by the average size of a batch: a larger batch overdraws the
        permits.
        """
        current = self._current
        if current is None or not self._left or not current.session.is_writable:
            able = [consumer for consumer in self.consumers if consumer.is_able]
            best = [consumer for consumer in able if consumer.priority == able[0].priority]
            current = self._current = best[self._turn % len(best)] if best else None
            self._turn += 1
            if current is not None:
                messages = min(self._remaining, self._room(current))
                self._left = max(1, min(ROUND_ROBIN_ENTRIES, ceil(messages / self._average)))
        self._left -= 1
        return current


def _or(policy: int | None, default: int) -> int:
    return default if policy is None else policy
