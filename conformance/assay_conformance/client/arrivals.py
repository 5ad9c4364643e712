"""What MESSAGE brings one consumer: checked, joined where it comes in chunks, uncompressed and opened.

What cannot be read is acknowledged with the reason, or it would come again for ever. Whatever is dropped in here
gives its permits back, or the consumer would stall in the long run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from assay_conformance.client.acks import AckGroup, Outlet
from assay_conformance.client.chunks import ChunkBuffer
from assay_conformance.client.connection import Connection
from assay_conformance.client.entries import (
    BadEntryError,
    Entry,
    Opened,
    Position,
    bits_of,
    check_size,
    open_entry,
    uncompress,
)
from assay_conformance.client.permits import Permits
from assay_conformance.client.settings import ConsumerSettings
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer
from assay_conformance.wire import (
    CommandType,
    Frame,
    MessageMetadata,
    MetadataError,
    Payload,
    command,
    is_batch,
    message_id,
)
from assay_conformance.wire import pulsar_pb2 as pb

NOTHING: Final[Position] = (-1, -1)

Taken = Callable[[Entry, list[Opened], MessageMetadata, int], None]
"""An entry as the broker left it, its messages, its metadata, and how often it was redelivered."""


class Arrivals:
    """`taken` gets every entry that could be opened."""

    def __init__(
        self,
        shared: Shared,
        settings: ConsumerSettings,
        outlet: Outlet,
        acks: AckGroup,
        permits: Permits,
        taken: Taken,
    ) -> None:
        self._shared = shared
        self._outlet = outlet
        self._acks = acks
        self._permits = permits
        self._taken = taken
        self.unreadable: Position = NOTHING
        """The furthest entry that could not be read."""
        self._chunks = shared.implementation(ChunkBuffer)(
            settings.max_pending_chunked_messages, settings.auto_ack_oldest_chunked
        )
        self._expire_ns = settings.expire_incomplete_chunked_ms * MS
        self._expiry: Timer | None = None

    def message(self, frame: Frame, connection: Connection, *, stale: bool) -> None:
        """Take a MESSAGE in. A `stale` one is dropped: it will come again."""
        payload = frame.payload
        assert payload is not None
        body = frame.body
        position = (body.message_id.ledgerId, body.message_id.entryId)
        if not self._is_intact(payload):
            self._corrupt(position, connection)
            return
        try:
            if stale:
                self._drop_stale(payload, body)
                return
            self._take(payload, position, body, connection.max_message_bytes)
        except MetadataError:
            self._bad_metadata(position, connection)
        except BadEntryError as error:
            self._bad_entry(payload.metadata, position, error, connection)

    def clear(self) -> None:
        """Drop the chunks that are held: the broker will deliver everything unacknowledged again."""
        self._chunks.clear()

    # --- what can be read ---

    def _is_intact(self, payload: Payload) -> bool:
        return payload.checksum_ok()

    def _drop_stale(self, payload: Payload, body: pb.CommandMessage) -> None:
        self._permits.give_back(permits_charged(payload.metadata, body.ack_set))

    def _drop_acked(self, metadata: MessageMetadata, body: pb.CommandMessage) -> None:
        """Drop a message that was acknowledged while the broker was sending it again."""
        self._permits.give_back(permits_charged(metadata, body.ack_set))

    def _take(self, payload: Payload, position: Position, body: pb.CommandMessage, limit: int) -> None:
        metadata = payload.metadata
        if self._acks.covers(position):
            self._drop_acked(metadata, body)
            return
        if self._is_chunk(metadata):
            self._take_chunk(payload, position, body)
            return
        check_size(payload.data, limit)
        self._open(metadata, self._uncompressed(metadata, payload.data), (position,), body)

    def _is_chunk(self, metadata: MessageMetadata) -> bool:
        return metadata.num_chunks_from_msg > 1

    def _uncompressed(self, metadata: MessageMetadata, data: bytes | memoryview) -> bytes:
        return uncompress(metadata, data)

    def _take_chunk(self, payload: Payload, position: Position, body: pb.CommandMessage) -> None:
        metadata = payload.metadata
        progress = self._chunks.add(metadata, bytes(payload.data), position, self._shared.now_ns)
        self._expire_chunks()
        if progress.acks:
            self._acks.immediately(progress.acks)
        if progress.joined is None:
            self._give_back_chunk(metadata)
        else:
            data = self._uncompressed(metadata, progress.joined.data)
            self._open(metadata, data, progress.joined.positions, body)

    def _give_back_chunk(self, metadata: MessageMetadata) -> None:
        """Give back the permit of a chunk that does not complete its message."""
        del metadata
        self._permits.give_back(1)

    def _expire_chunks(self) -> None:
        """Give up the messages that are incomplete for too long, and look again when the next one is."""
        if not self._expire_ns:
            return
        if (chunks := self._chunks.expired(self._shared.now_ns - self._expire_ns)) and self._outlet.ready:
            self._acks.immediately(chunks)
        if self._expiry is not None:
            self._expiry.cancel()
        if (oldest_ns := self._chunks.oldest_ns) is not None:
            self._expiry = self._shared.timers.at(oldest_ns + self._expire_ns, self._expire_chunks)

    def _open(
        self, metadata: MessageMetadata, data: bytes, positions: tuple[Position, ...], body: pb.CommandMessage
    ) -> None:
        opened = self._opened(metadata, data)
        size = size_of(metadata)
        self._taken(Entry(positions, size, bits_of(body.ack_set, size)), opened, metadata, body.redelivery_count)

    def _opened(self, metadata: MessageMetadata, data: bytes) -> list[Opened]:
        return open_entry(metadata, data)

    # --- what cannot ---

    def _corrupt(self, position: Position, connection: Connection) -> None:
        del connection
        self._discard(position, pb.CommandAck.ChecksumMismatch, 1)

    def _bad_metadata(self, position: Position, connection: Connection) -> None:
        del connection
        self._discard(position, pb.CommandAck.ChecksumMismatch, 1)

    def _bad_entry(
        self, metadata: MessageMetadata, position: Position, error: BadEntryError, connection: Connection
    ) -> None:
        del connection
        self._unreadable(metadata, position, error.reason)

    def _unreadable(self, metadata: MessageMetadata, position: Position, reason: pb.CommandAck.ValidationError) -> None:
        self._discard(position, reason, size_of(metadata))

    def _discard(self, position: Position, reason: pb.CommandAck.ValidationError, permits: int) -> None:
        """Acknowledge an entry that cannot be read, with the reason, so that it does not come again for ever."""
        self.unreadable = max(self.unreadable, position)
        self._outlet.post(
            command(
                CommandType.ACK,
                consumer_id=self._outlet.consumer_id,
                ack_type=pb.CommandAck.Individual,
                message_id=[message_id(*position)],
                validation_error=reason,
            )
        )
        self._permits.give_back(permits)


def size_of(metadata: MessageMetadata) -> int:
    """Return how many messages an entry holds."""
    return metadata.num_messages_in_batch if is_batch(metadata) else 1


def permits_charged(metadata: MessageMetadata, ack_set: Sequence[int]) -> int:
    """Return how many permits the broker charged for an entry."""
    return bits_of(ack_set, size_of(metadata)).bit_count()
