"""Deduplication by producer name and sequence id.

Two numbers a name: the highest id taken in (`pushed`), set before the write, and the highest id written (`persisted`),
set after it. Between the two a repeated id cannot be judged. A batch is compared by its lowest id and recorded by its
highest, and stands or falls as a whole. Of a chunked message only the last chunk is compared and recorded.

What is written down is a snapshot, taken every so many entries and every so often; a broker that loads the topic starts
with it and adds what the metadata of later entries says. A name without a producer is forgotten after a while.
Source: MessageDeduplication of Pulsar 4.0 and its settings in broker.conf.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import islice

from assay_conformance.broker.host import Host
from assay_conformance.broker.store import Entry
from assay_conformance.broker.timers import NS_PER_S
from assay_conformance.wire import MessageMetadata

NOTHING = -1


class Copy(Enum):
    """What a SEND is."""

    NEW = "new"
    DUPLICATE = "duplicate"
    UNKNOWN = "unknown"


class Deduplication:
    """The numbers of one topic, whose `entries` they are about; those stored before are not looked at.

    Snapshots are due at moments, but need no timer: until an id is persisted the numbers do not
    change, so that one that was due in between is taken first, as it would have been.
    """

    __slots__ = (
        "_covered",
        "_entries",
        "_host",
        "_idle_since_ns",
        "_persisted",
        "_pushed",
        "_since_snapshot",
        "_snapshot",
        "_taken_ns",
    )

    def __init__(self, host: Host, entries: list[Entry]) -> None:
        self._host = host
        self._entries = entries
        self._pushed: dict[str, int] = {}
        self._persisted: dict[str, int] = {}
        self._snapshot: dict[str, int] = {}
        self._covered = len(entries)
        self._since_snapshot = 0
        self._taken_ns = host.now_ns
        self._idle_since_ns: dict[str, int] = {}

    def push(self, name: str, lowest: int, highest: int) -> Copy:
        """Judge a SEND and, when it is new, record that its write begins."""
        last = self._pushed.get(name)
        compared = self._compared(lowest, highest)
        if last is not None and compared <= last:
            return Copy.DUPLICATE if compared <= self._persisted.get(name, NOTHING) else Copy.UNKNOWN
        self._pushed[name] = max(lowest, highest)
        return Copy.NEW

    def _compared(self, lowest: int, highest: int) -> int:
        """Return the id by which a SEND is compared."""
        del highest
        return lowest

    def persist(self, name: str, highest: int, index: int) -> None:
        """Record that a write ended, as entry `index`."""
        self._keep_due(index)
        self._persisted[name] = highest
        self._since_snapshot += 1
        if self._since_snapshot >= self._host.settings.dedup_snapshot_entries:
            self._keep(index + 1)

    def last_pushed(self, name: str) -> int:
        """Return the last_sequence_id of PRODUCER_SUCCESS."""
        return self._pushed.get(name, NOTHING)

    def joined(self, name: str) -> None:
        """Note that a producer of this name is attached."""
        self._purge()
        self._idle_since_ns.pop(name, None)

    def left(self, name: str) -> None:
        """Note that the producer of this name has left."""
        self._idle_since_ns[name] = self._host.now_ns

    def forget_unwritten(self) -> None:
        """Forget the sends that were not written: their ids may come again."""
        self._pushed = dict(self._persisted)

    def recover(self) -> None:
        """Start again from what is written down, as a broker that loads the topic does."""
        self._purge()
        self._keep_due(len(self._entries))
        self._persisted = self._read_snapshot()
        for entry in self._behind_snapshot():
            metadata = entry.metadata
            if metadata is not None and not is_early_chunk(metadata):
                highest = max(metadata.sequence_id, metadata.highest_sequence_id)
                name = metadata.producer_name
                self._persisted[name] = max(self._persisted.get(name, NOTHING), highest)
        self._pushed = dict(self._persisted)
        self._idle_since_ns = dict.fromkeys(self._persisted, self._host.now_ns)

    def _read_snapshot(self) -> dict[str, int]:
        return dict(self._snapshot)

    def _behind_snapshot(self) -> Iterable[Entry]:
        """Return the entries that the snapshot does not cover."""
        return islice(self._entries, self._covered, None)

    def _keep_due(self, entries: int) -> None:
        """Take the snapshot that was due since the last id was persisted."""
        due_ns = self._host.settings.dedup_snapshot_s * NS_PER_S
        if self._since_snapshot and self._host.now_ns - self._taken_ns >= due_ns:
            self._keep(entries)

    def _keep(self, entries: int) -> None:
        self._snapshot = dict(islice(self._persisted.items(), self._most_names()))
        self._covered = entries
        self._since_snapshot = 0
        self._taken_ns = self._host.now_ns

    def _most_names(self) -> int | None:
        """Return how many names a snapshot holds; None for no limit."""
        return self._host.settings.dedup_max_producers

    def _purge(self) -> None:
        limit_ns = self._host.settings.dedup_idle_minutes * 60 * NS_PER_S
        idle = [name for name, since_ns in self._idle_since_ns.items() if self._host.now_ns - since_ns > limit_ns]
        if not idle:
            return
        for name in idle:
            for numbers in (self._pushed, self._persisted, self._idle_since_ns):
                numbers.pop(name, None)
        # Written down at once: else the next load of the topic would find it again in what is stored.
        self._keep(len(self._entries))


def is_early_chunk(metadata: MessageMetadata) -> bool:
    """Return whether this is a chunk, and not the last of its message."""
    return metadata.HasField("chunk_id") and metadata.chunk_id != metadata.num_chunks_from_msg - 1
