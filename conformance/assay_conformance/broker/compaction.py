"""What a compaction leaves of a topic: of each key its newest message, and nothing of a key whose newest is empty.

Messages without a key go too (PIP-318). What cannot be read, being encrypted, a chunk or damaged, stays as it is. A
batch stays a batch: its removed messages are marked as compacted out, and clients skip them, so that every message
keeps its id. Source: Pulsar's documentation (concepts-topic-compaction) and its compactor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from assay_conformance.broker.store import Entry
from assay_conformance.wire import (
    Codec,
    CommandType,
    Member,
    MessageMetadata,
    Payload,
    ProtocolError,
    SingleMessageMetadata,
    compress,
    decode_batch,
    decompress,
    encode_batch,
    encode_block,
    is_batch,
    is_chunk,
)

_MAX_BATCH_BYTES = 128 * 1024 * 1024


class _Message(NamedTuple):
    """`key` is None for one without; `empty` is a tombstone."""

    key: str | None
    empty: bool


class Compaction:
    """One run over the entries there were. Those from `horizon` on came later."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.horizon = len(entries)
        self._kept = _compact(entries)

    def left(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return what a consumer that reads compacted gets of these entries."""
        found = (self._kept.get(entry.index) if entry.index < self.horizon else entry for entry in entries)
        return [entry for entry in found if entry is not None]

    def last(self) -> Entry | None:
        """Return the newest entry below the horizon that is left."""
        return self._kept[max(self._kept)] if self._kept else None


def _compact(entries: Sequence[Entry]) -> dict[int, Entry]:
    """Return the entries that a compaction leaves, by index."""
    newest: dict[str, tuple[int, int]] = {}
    readable: dict[int, list[_Message]] = {}
    for entry in entries:
        messages = _messages(entry.payload)
        if messages is None:
            continue
        readable[entry.index] = messages
        for number, message in enumerate(messages):
            if message.key is not None and not message.empty:
                newest[message.key] = (entry.index, number)
            elif message.key is not None:
                newest.pop(message.key, None)
    left: dict[int, set[int]] = {}
    for index, number in newest.values():
        left.setdefault(index, set()).add(number)
    return {
        entry.index: _reduced(entry, left[entry.index], len(readable[entry.index])) if entry.index in left else entry
        for entry in entries
        if entry.index in left or entry.index not in readable
    }


def _messages(payload: Payload) -> list[_Message] | None:
    """Return the messages of an entry; None for one that cannot be read."""
    try:
        metadata = payload.metadata
        if metadata.encryption_keys or is_chunk(metadata):
            return None
        if is_batch(metadata):
            return [_of_batch(member) for member in _members(payload)]
        size = metadata.uncompressed_size if metadata.compression else len(payload.data)
        return [_Message(metadata.partition_key if metadata.HasField("partition_key") else None, not size)]
    except (ProtocolError, ValueError):
        # ValueError: an unknown codec.
        return None


def _of_batch(member: Member) -> _Message:
    known = member.metadata.HasField("partition_key")
    return _Message(member.metadata.partition_key if known else None, not member.payload)


def _members(payload: Payload) -> list[Member]:
    metadata = payload.metadata
    data = decompress(Codec(metadata.compression), payload.data, metadata.uncompressed_size, _MAX_BATCH_BYTES)
    return decode_batch(data, metadata.num_messages_in_batch)


def _reduced(entry: Entry, left: set[int], messages: int) -> Entry:
    """Return the entry with only these of its messages."""
    if len(left) == messages:
        return entry
    members = [
        member if number in left else _passed_over(member) for number, member in enumerate(_members(entry.payload))
    ]
    data = encode_batch(members)
    metadata = MessageMetadata()
    metadata.CopyFrom(entry.payload.metadata)
    if metadata.compression:
        metadata.uncompressed_size = len(data)
    block = encode_block(metadata, compress(Codec(metadata.compression), data))
    return Entry(entry.ledger, entry.entry, entry.index, Payload(memoryview(block), CommandType.SEND))


def _passed_over(member: Member) -> Member:
    metadata = SingleMessageMetadata()
    metadata.CopyFrom(member.metadata)
    metadata.compacted_out = True
    return Member(metadata, b"")
