"""A topic's entries: the order of appends, their ledger positions, and the append that waits for its disk.

Entries are counted from 0 over all ledgers (`index`); a position (ledger, entry) is how the protocol names one. One
ledger is open at a time; each load of the topic opens the next, and so does the entry after a full one. Ledger ids
come from one counter of the whole cluster, so those of a topic increase and are not contiguous.
"""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from assay_conformance.wire import MessageIdData, MessageMetadata, MetadataError, Payload, murmur3_32

NONE_KEY = b"NONE_KEY"


class Entry:
    """One stored entry."""

    __slots__ = ("_key_hash", "_messages", "_plain", "entry", "index", "ledger", "payload")

    def __init__(self, ledger: int, entry: int, index: int, payload: Payload) -> None:
        self.ledger = ledger
        self.entry = entry
        self.index = index
        self.payload = payload
        self._messages = -1
        self._plain = True
        self._key_hash = -1

    @property
    def messages(self) -> int:
        """How many messages it holds; 0 when its metadata cannot be decoded."""
        if self._messages < 0:
            self._look()
        return self._messages

    @property
    def is_plain(self) -> bool:
        """Whether it is neither delayed nor a chunk."""
        if self._messages < 0:
            self._look()
        return self._plain

    def _look(self) -> None:
        try:
            metadata = self.payload.metadata
        except MetadataError:
            self._messages, self._plain = 0, True
            return
        # Defaults to 1 where the entry is no batch.
        self._messages = max(1, metadata.num_messages_in_batch)
        self._plain = not (metadata.deliver_at_time or metadata.uuid)

    @property
    def key_hash(self) -> int:
        """The hash Key_Shared goes by, without its sign bit."""
        if self._key_hash < 0:
            self._key_hash = murmur3_32(_sticky_key(self.metadata))
        return self._key_hash

    @property
    def metadata(self) -> MessageMetadata | None:
        try:
            return self.payload.metadata
        except MetadataError:
            return None


def _entry_of(position: MessageIdData) -> int:
    """Return the entry of its ledger that an id names.

    -1, which Java's readers name as the one in front of the first, comes as 2^64 - 1, and what is in front of it is
    what is in front of the first (ManagedLedgerImpl.getPreviousPosition).
    """
    return position.entryId if position.entryId < 1 << 63 else 0


def _sticky_key(metadata: MessageMetadata | None) -> bytes:
    """Return the sticky key of an entry, for which its members' own keys do not count.

    It is the ordering key, else the partition key, else one made of producer name and sequence id
    (Commands.resolveStickyKey).
    """
    if metadata is None:
        return NONE_KEY
    if metadata.HasField("ordering_key"):
        return metadata.ordering_key
    if not metadata.HasField("partition_key"):
        return f"{metadata.producer_name}-{metadata.sequence_id}".encode()
    if not metadata.partition_key_b64_encoded:
        return metadata.partition_key.encode()
    try:
        return base64.b64decode(metadata.partition_key, validate=True)
    except ValueError:
        return metadata.partition_key.encode()


class Append(ABC):
    """A payload on its way into the store."""

    __slots__ = ("payload", "producer_name", "sequence_id")

    payload: Payload
    producer_name: str
    sequence_id: int

    @abstractmethod
    def done(self, entry: Entry) -> None:
        """Note that the payload is durable, as this entry."""

    @abstractmethod
    def fail(self) -> None:
        """Note that the payload could not be written."""


@dataclass(slots=True)
class Hold:
    """Which appends wait: those that match, `remaining` of them (None = all from now on)."""

    producer_name: str | None
    sequence_id: int | None
    remaining: int | None

    def catches(self, append: Append) -> bool:
        if self.producer_name not in (None, append.producer_name):
            return False
        if self.sequence_id not in (None, append.sequence_id):
            return False
        if self.remaining is None:
            return True
        self.remaining -= 1
        return self.remaining >= 0


class Store:
    """Appends become entries in the order they came: one that waits holds back all later ones, as a ledger does.

    Entries below `deleted` are there for those who look back, and for no consumer any more. A ledger ends after
    `ledger_entries` (0: it does not), and `new_ledger` gives the id of the next.
    """

    __slots__ = (
        "_bytes",
        "_first",
        "_holds",
        "_ledger_entries",
        "_ledgers",
        "_new_ledger",
        "_waiting",
        "deleted",
        "entries",
    )

    def __init__(self, new_ledger: Callable[[], int], ledger_entries: int = 0) -> None:
        self._new_ledger = new_ledger
        self._ledger_entries = ledger_entries
        self.deleted = 0
        self.entries: list[Entry] = []
        self._bytes = 0
        self._ledgers: list[int] = []
        self._first: list[int] = []
        self._holds: list[Hold] = []
        self._waiting: deque[Append] = deque()

    def open_ledger(self, ledger: int) -> None:
        """Add further entries to this ledger; its id is greater than those before."""
        self._ledgers.append(ledger)
        self._first.append(len(self.entries))

    def append(self, append: Append) -> None:
        if self._waiting or (self._holds and any(hold.catches(append) for hold in self._holds)):
            self._waiting.append(append)
        else:
            append.done(self.add(append.payload))

    def add(self, payload: Payload) -> Entry:
        """Store at once, past whatever waits."""
        entries = self.entries
        index = len(entries)
        if 0 < self._ledger_entries <= index - self._first[-1]:
            self.open_ledger(self._new_ledger())
        entry = Entry(self._ledgers[-1], index - self._first[-1], index, payload)
        entries.append(entry)
        self._bytes += len(payload.block)
        return entry

    def hold(self, hold: Hold) -> None:
        self._holds.append(hold)

    def release(self) -> None:
        """Forget all holds and write what waits, in order."""
        self._holds.clear()
        while self._waiting:
            append = self._waiting.popleft()
            append.done(self.add(append.payload))

    def take_waiting(self) -> list[Append]:
        """Forget all holds and what waits, which is never written."""
        self._holds.clear()
        taken = list(self._waiting)
        self._waiting.clear()
        return taken

    def ledgers(self) -> list[tuple[int, int, int]]:
        """Return of each ledger that is not deleted its id, the index of its first entry and that of the next one's."""
        ends = [*self._first[1:], len(self.entries)]
        spans = zip(self._ledgers, self._first, ends, strict=True)
        return [span for span in spans if span[2] > self.deleted or span[0] == self._ledgers[-1]]

    def closed_ledgers(self) -> list[int]:
        """Return, of each ledger that is written and not deleted, the index after its last entry."""
        return [end for end in self._first[1:] if end > self.deleted]

    @property
    def average_bytes(self) -> int:
        """Of an entry; 0 as long as there is none."""
        return self._bytes // len(self.entries) if self.entries else 0

    def published(self) -> tuple[int, int]:
        """Return how many messages and bytes were ever published."""
        return sum(entry.messages for entry in self.entries), self._bytes

    @property
    def is_used(self) -> bool:
        """Whether anything was ever taken."""
        return bool(self.entries)

    @property
    def waits(self) -> bool:
        """Whether anything is held back now."""
        return bool(self._waiting)

    @property
    def next_position(self) -> tuple[int, int]:
        """Where the next entry would go."""
        return self._ledgers[-1], len(self.entries) - self._first[-1]

    def find(self, ledger: int, entry: int) -> int | None:
        """Return the index of a stored position, None when nothing is stored there."""
        index = self.next_index(ledger, entry - 1)
        if index < len(self.entries):
            found = self.entries[index]
            if found.ledger == ledger and found.entry == entry:
                return index
        return None

    def next_index(self, ledger: int, entry: int) -> int:
        """Return the index of the first entry after a position, whether or not that position holds one."""
        slot = bisect_right(self._ledgers, ledger) - 1
        if slot < 0:
            return 0
        end = self._first[slot + 1] if slot + 1 < len(self._first) else len(self.entries)
        if self._ledgers[slot] != ledger:
            return end
        return min(max(self._first[slot] + entry + 1, self._first[slot]), end)

    def index_at(self, position: MessageIdData) -> int:
        """Return the index of the entry that an id names, or of the first one after it. (-1, -1) is the earliest."""
        if position.ledgerId >= 1 << 63:
            return 0
        return self.next_index(position.ledgerId, _entry_of(position) - 1)

    def named_before(self, position: MessageIdData) -> tuple[int, int] | None:
        """Return the position in front of this one by its numbers alone, whether or not it is of this topic.

        None where the numbers do not say it (ManagedLedgerImpl.getPreviousPosition).
        """
        ledger, entry = position.ledgerId, _entry_of(position)
        if self.is_beyond(position) or ledger >= 1 << 63 or (not entry and ledger > self._ledgers[0]):
            return None
        return ledger, entry - 1

    def is_unwritten(self, position: MessageIdData) -> bool:
        """Return whether a position is after everything stored."""
        return position.ledgerId < 1 << 63 and (position.ledgerId, _entry_of(position)) >= self.next_position

    def is_beyond(self, position: MessageIdData) -> bool:
        """Return whether a position is after even the next entry."""
        return self.is_unwritten(position) and (position.ledgerId, _entry_of(position)) != self.next_position

    def index_of_time(self, publish_time_ms: int) -> int:
        """Return the index of the first entry published at this time or later."""
        for entry in self.entries:
            metadata = entry.metadata
            if metadata is not None and metadata.publish_time >= publish_time_ms:
                return entry.index
        return len(self.entries)

    def mark_delete(self, index: int) -> tuple[int, int]:
        """Return the position in front of entry `index`, as cursors report it: (first ledger, -1) in front of all."""
        if index == 0:
            return self._ledgers[0], -1
        entry = self.entries[index - 1]
        return entry.ledger, entry.entry
