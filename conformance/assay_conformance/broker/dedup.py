"""Deduplication by producer name and sequence id.

Two numbers a name: the highest id taken in (`pushed`), set before the write, and the highest id written (`persisted`),
set after it. Between the two a repeated id cannot be judged. A batch is compared by its lowest id and recorded by its
highest, and stands or falls as a whole. Of a chunked message only the last chunk is compared and recorded.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from assay_conformance.broker.store import Entry
from assay_conformance.wire import MessageMetadata

NOTHING = -1


class Copy(Enum):
    """What a SEND is."""

    NEW = "new"
    DUPLICATE = "duplicate"
    UNKNOWN = "unknown"


class Deduplication:
    """The numbers of one topic."""

    __slots__ = ("_persisted", "_pushed")

    def __init__(self) -> None:
        self._pushed: dict[str, int] = {}
        self._persisted: dict[str, int] = {}

    def push(self, name: str, lowest: int, highest: int) -> Copy:
        """Judge a SEND and, when it is new, record that its write begins."""
        last = self._pushed.get(name)
        if last is not None and lowest <= last:
            return Copy.DUPLICATE if lowest <= self._persisted.get(name, NOTHING) else Copy.UNKNOWN
        self._pushed[name] = max(lowest, highest)
        return Copy.NEW

    def persist(self, name: str, highest: int) -> None:
        """Record that a write ended."""
        self._persisted[name] = highest

    def last_pushed(self, name: str) -> int:
        """PRODUCER_SUCCESS.last_sequence_id."""
        return self._pushed.get(name, NOTHING)

    def replay(self, entries: Iterable[Entry]) -> None:
        """Start again from what is stored, as a broker that loads the topic does: only the metadata counts then."""
        self._persisted.clear()
        for entry in entries:
            metadata = entry.metadata
            if metadata is not None and not is_early_chunk(metadata):
                highest = max(metadata.sequence_id, metadata.highest_sequence_id)
                name = metadata.producer_name
                self._persisted[name] = max(self._persisted.get(name, NOTHING), highest)
        self._pushed = dict(self._persisted)


def is_early_chunk(metadata: MessageMetadata) -> bool:
    """True for every chunk of a message but its last."""
    return metadata.HasField("chunk_id") and metadata.chunk_id != metadata.num_chunks_from_msg - 1
