"""Key_Shared subscriptions: one key, one consumer, in order.

While entries of a key's hash are out at one consumer, no other gets any of that hash (the draining hashes of PIP-379):
a consumer that joins takes a hash over once what the former has of it is acknowledged. What has to wait makes all later
entries with the same hash wait. With allowOutOfOrderDelivery neither holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container

from assay_conformance.broker.backlog import Backlog
from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.host import Host
from assay_conformance.broker.rules import LOOK_AHEAD_PER_CONSUMER, LOOK_AHEAD_PER_SUBSCRIPTION
from assay_conformance.broker.sharing import Replay, Sharing
from assay_conformance.broker.stickiness import selector
from assay_conformance.broker.store import Entry
from assay_conformance.wire.pulsar_pb2 import KeySharedMeta


class KeyedReplay(Replay):
    """`hashes` counts what waits by the hash of its key."""

    __slots__ = ("_entries", "hashes")

    def __init__(self, entries: list[Entry]) -> None:
        super().__init__()
        self._entries = entries
        self.hashes: Counter[int] = Counter()

    def put(self, index: int) -> None:
        if index not in self:
            self.hashes[self._entries[index].key_hash] += 1
            super().put(index)

    def discard(self, index: int) -> None:
        if index in self:
            self._uncount(index)
            super().discard(index)

    def take(self, count: int) -> list[int]:
        found = super().take(count)
        for index in found:
            self._uncount(index)
        return found

    def clear(self) -> None:
        super().clear()
        self.hashes.clear()

    def _uncount(self, index: int) -> None:
        hash = self._entries[index].key_hash
        self.hashes[hash] -= 1
        if not self.hashes[hash]:
            del self.hashes[hash]


class KeyShared(Sharing):
    """`meta` is what all its consumers asked for alike."""

    def __init__(self, host: Host, backlog: Backlog, meta: KeySharedMeta) -> None:
        super().__init__(host, backlog)
        self.replay: KeyedReplay = KeyedReplay(self._entries)
        self.meta = meta
        self._selector = selector(meta)
        self._ordered = not meta.allowOutOfOrderDelivery
        self._rooms: dict[Consumer, int] = {}
        self._out: dict[int, Counter[Consumer]] = {}
        self._held: Container[int] = ()
        self._hold: Callable[[int], None] = _noted_already

    def add(self, consumer: Consumer) -> None:
        self._selector.add(consumer)
        super().add(consumer)

    def holder(self, consumer: Consumer) -> Consumer | None:
        return self._selector.holder(consumer)

    def remove(self, consumer: Consumer) -> None:
        self._selector.remove(consumer)
        super().remove(consumer)

    def clear(self) -> None:
        super().clear()
        self._out.clear()

    @property
    def _look_ahead(self) -> int:
        return min(LOOK_AHEAD_PER_CONSUMER * len(self.consumers), LOOK_AHEAD_PER_SUBSCRIPTION)

    def _send_again(self) -> None:
        held: set[int] = set()
        self._held, self._hold = held, held.add
        super()._send_again()

    def _send_new(self) -> None:
        # What has to wait is put with the rest that does, and is found there.
        self._held, self._hold = self.replay.hashes, _noted_already
        super()._send_new()

    def _begin(self, _entries: list[Entry]) -> None:
        self._rooms = {consumer: self._room(consumer) if consumer.is_able else 0 for consumer in self.consumers}

    def _pick(self, entry: Entry) -> Consumer | None:
        consumer = self._selector.select(entry.key_hash)
        room = 0 if consumer is None or not consumer.session.is_writable else self._rooms[consumer]
        if consumer is None or room <= 0 or (self._ordered and self._has_to_wait(entry, consumer)):
            self._hold(entry.key_hash)
            return None
        return consumer

    def _has_to_wait(self, entry: Entry, consumer: Consumer) -> bool:
        """Return whether an entry of the same hash waits before it, or is out at another consumer."""
        out = self._out.get(entry.key_hash, ())
        return entry.key_hash in self._held or any(holder is not consumer for holder in out)

    def _sent(self, consumer: Consumer, entry: Entry, messages: int) -> None:
        super()._sent(consumer, entry, messages)
        self._rooms[consumer] -= 1
        self._out.setdefault(entry.key_hash, Counter())[consumer] += 1

    def _let_go(self, holder: Consumer, index: int) -> None:
        super()._let_go(holder, index)
        hash = self._entries[index].key_hash
        out = self._out[hash]
        out[holder] -= 1
        if not out[holder]:
            del out[holder]
            # Another consumer may have waited for just this.
            self._freed = self._freed or bool(self.replay)
        if not out:
            del self._out[hash]


def _noted_already(_hash: int) -> None:
    """Do nothing."""
