"""Chunks: one message over many entries, cut by the producer and joined by the consumer.

Chunks of one message share a uuid and carry their number, their count and the size of the whole. They arrive in order,
those of other messages between them, and any of them may come twice: because the broker delivers again (the same
message id) or because the producer sent again (another id). What a consumer then does with each id, acknowledging it or
leaving it to be delivered again, is the consumer's business; `ChunkAssembler` says which of the cases it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from assay_conformance.wire.errors import ChunkError, LocalProtocolError
from assay_conformance.wire.pulsar_pb2 import MessageMetadata

EntryId: TypeAlias = tuple[int, int]
"""Ledger and entry."""


def is_chunk(metadata: MessageMetadata) -> bool:
    """Return whether the payload is a part of a message; a message of one chunk is a whole one."""
    return metadata.num_chunks_from_msg > 1


def split_chunks(
    metadata: MessageMetadata, data: bytes | memoryview, chunk_bytes: int
) -> list[tuple[MessageMetadata, bytes]]:
    """Return metadata and data of each chunk of a compressed message; what fits into one chunk is left as it is.

    Raises LocalProtocolError for a chunk size below 1: the metadata alone fills a message.
    """
    if chunk_bytes < 1:
        raise LocalProtocolError(f"chunk: expected room for at least 1 byte of payload, got {chunk_bytes}")
    count = -(-len(data) // chunk_bytes)
    if count < 2:
        return [(metadata, bytes(data))]
    return [
        (_numbered(metadata, number, count, len(data)), bytes(data[number * chunk_bytes : (number + 1) * chunk_bytes]))
        for number in range(count)
    ]


def _numbered(metadata: MessageMetadata, number: int, count: int, total_bytes: int) -> MessageMetadata:
    chunk = MessageMetadata()
    chunk.CopyFrom(metadata)
    chunk.uuid = f"{metadata.producer_name}-{metadata.sequence_id}"
    chunk.num_chunks_from_msg = count
    chunk.total_chunk_msg_size = total_bytes
    chunk.chunk_id = number
    return chunk


@dataclass(frozen=True, slots=True)
class Waiting:
    """Kept; more chunks must come."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """The last chunk came: the whole message, still compressed, and the ids of all its chunks in order."""

    data: bytes
    ids: tuple[EntryId, ...]


@dataclass(frozen=True, slots=True)
class Restarted:
    """Chunk 0 came again and is kept; the chunks held before, these ids, are forgotten.

    `redelivered`: by the broker, which will deliver the others again too; else the producer has sent the message again.
    """

    dropped: tuple[EntryId, ...]
    redelivered: bool


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A chunk that is held already came again and is not kept. `redelivered`: under the id it had the first time."""

    redelivered: bool


@dataclass(frozen=True, slots=True)
class Gap:
    """A chunk came without the one before it and is not kept; the chunks held, these ids, are forgotten."""

    dropped: tuple[EntryId, ...]


Added: TypeAlias = Waiting | Assembled | Restarted | Duplicate | Gap


@dataclass(slots=True)
class _Pending:
    count: int
    total_bytes: int
    parts: list[bytes] = field(default_factory=list)
    ids: list[EntryId] = field(default_factory=list)
    size: int = 0

    def append(self, data: bytes | memoryview, message_id: EntryId) -> None:
        self.parts.append(bytes(data))
        self.ids.append(message_id)
        self.size += len(data)


class ChunkAssembler:
    """Joins the chunks of one consumer. It holds what came and never more than the sizes the chunks announce."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: dict[str, _Pending] = {}

    @property
    def pending(self) -> tuple[str, ...]:
        """The uuids of the messages begun and not complete, oldest first."""
        return tuple(self._pending)

    def discard(self, uuid: str) -> tuple[EntryId, ...]:
        """Forget an incomplete message, for its age or for lack of room; the ids of its chunks."""
        held = self._pending.pop(uuid, None)
        return tuple(held.ids) if held else ()

    def add(self, metadata: MessageMetadata, data: bytes | memoryview, message_id: EntryId) -> Added:
        """Take one chunk.

        Raises ChunkError, and forgets the message, for a number outside the count, for a count or total size other than
        that of the chunks before, and for chunks that do not add up to the total size.
        """
        if not is_chunk(metadata) or not 0 <= metadata.chunk_id < metadata.num_chunks_from_msg:
            self.discard(metadata.uuid)
            raise ChunkError(f"chunk {metadata.uuid}: number {metadata.chunk_id} of {metadata.num_chunks_from_msg}")
        if metadata.chunk_id == 0:
            return self._begin(metadata, data, message_id)
        held = self._pending.get(metadata.uuid)
        if held is None or metadata.chunk_id > len(held.ids):
            return Gap(self.discard(metadata.uuid))
        if metadata.chunk_id < len(held.ids):
            return Duplicate(redelivered=held.ids[metadata.chunk_id] == message_id)
        return self._append(held, metadata, data, message_id)

    def _begin(self, metadata: MessageMetadata, data: bytes | memoryview, message_id: EntryId) -> Added:
        dropped = self.discard(metadata.uuid)
        held = _Pending(metadata.num_chunks_from_msg, metadata.total_chunk_msg_size)
        self._pending[metadata.uuid] = held
        added = self._append(held, metadata, data, message_id)
        return Restarted(dropped, redelivered=dropped[0] == message_id) if dropped else added

    def _append(
        self, held: _Pending, metadata: MessageMetadata, data: bytes | memoryview, message_id: EntryId
    ) -> Waiting | Assembled:
        held.append(data, message_id)
        complete = len(held.ids) == held.count
        announced = (metadata.num_chunks_from_msg, metadata.total_chunk_msg_size)
        if announced != (held.count, held.total_bytes) or held.size > held.total_bytes:
            self._fail(held, metadata)
        if not complete:
            return Waiting()
        if held.size != held.total_bytes:
            self._fail(held, metadata)
        self.discard(metadata.uuid)
        return Assembled(b"".join(held.parts), tuple(held.ids))

    def _fail(self, held: _Pending, metadata: MessageMetadata) -> None:
        self.discard(metadata.uuid)
        raise ChunkError(
            f"chunk {metadata.uuid}: expected {held.count} chunks of {held.total_bytes} bytes together; number "
            f"{metadata.chunk_id} says {metadata.num_chunks_from_msg} of {metadata.total_chunk_msg_size}, "
            f"{held.size} bytes have come"
        )
