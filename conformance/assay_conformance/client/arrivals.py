"""What MESSAGE brings one consumer: checked, joined where it comes in chunks, uncompressed and opened.

What nobody can read is acknowledged with the reason, or it would come again for ever. Whatever is dropped in here
gives its permits back, or the consumer would stall in the long run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay_conformance.client.acks import AckGroup, Outlet
from assay_conformance.client.chunks import ChunkBuffer
from assay_conformance.client.connection import Connection
from assay_conformance.client.entries import (
    MAX_UNCOMPRESSED_BYTES,
    BadEntryError,
    Entry,
    Opened,
    Position,
    bits_of,
    check_size,
    open_entry,
    uncompress,
)
from assay_conformance.client.mutations import Mutation
from assay_conformance.client.permits import Permits
from assay_conformance.client.refusal import Cause
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

Taken = Callable[[Entry, list[Opened], MessageMetadata, int], None]
"""An entry as the broker left it, its messages, its metadata, and how often it was redelivered."""


class Arrivals:
    """`taken` gets every entry that could be opened; `drops` says which one mutation leaves out."""

    def __init__(
        self,
        shared: Shared,
        settings: ConsumerSettings,
        outlet: Outlet,
        acks: AckGroup,
        permits: Permits,
        drops: Callable[[Position], bool],
        taken: Taken,
    ) -> None:
        self._shared = shared
        self._outlet = outlet
        self._acks = acks
        self._permits = permits
        self._drops = drops
        self._taken = taken
        self._chunks = ChunkBuffer(
            settings.max_pending_chunked_messages, settings.auto_ack_oldest_chunked, shared.mutations
        )
        self._expire_ns = settings.expire_incomplete_chunked_ms * MS
        self._expiry: Timer | None = None
        self._again = False
        """Everything was to come again: what one mutation waits for."""

    def message(self, frame: Frame, connection: Connection, *, stale: bool) -> None:
        """`stale`: it will come again, and is dropped."""
        payload = frame.payload
        assert payload is not None
        body = frame.body
        position = (body.message_id.ledgerId, body.message_id.entryId)
        if not payload.checksum_ok() and not self._shared.mutated(Mutation.DELIVERS_CORRUPT):
            self._corrupt(position, connection)
            return
        try:
            if stale:
                if not self._shared.mutated(Mutation.OLD_EPOCH_KEEPS_PERMIT):
                    self._permits.give_back(_charged(payload.metadata, body.ack_set))
                return
            self._take(payload, position, body, connection.max_message_bytes)
        except MetadataError:
            if self._shared.mutated(Mutation.BAD_METADATA_CLOSES):
                connection.close(Cause.LOST, "undecodable metadata")
                return
            self._discard(position, pb.CommandAck.ChecksumMismatch, 1)
        except BadEntryError as error:
            absurd = payload.metadata.uncompressed_size > MAX_UNCOMPRESSED_BYTES
            if absurd and self._shared.mutated(Mutation.ABSURD_SIZE_CLOSES):
                connection.close(Cause.LOST, str(error))
                return
            self._unreadable(payload.metadata, position, error.reason)

    def clear(self) -> None:
        """The broker will deliver everything unacknowledged again."""
        self._chunks.clear()
        self._again = True

    # --- what can be read ---

    def _take(self, payload: Payload, position: Position, body: pb.CommandMessage, limit: int) -> None:
        metadata = payload.metadata
        if self._acks.covers(position):
            # Acknowledged while it was on its way again (ACK-008).
            if not self._shared.mutated(Mutation.ACKED_AGAIN_KEEPS_PERMIT):
                self._permits.give_back(_charged(metadata, body.ack_set))
            return
        if self._drops(position):
            self._permits.give_back(_charged(metadata, body.ack_set))
            return
        chunked = metadata.num_chunks_from_msg > 1 and not self._shared.mutated(Mutation.DELIVERS_FRAGMENTS)
        if chunked:
            self._take_chunk(payload, position, body)
            return
        check_size(payload.data, limit)
        data = uncompress(metadata, payload.data, self._shared.mutations)
        if self._again and not is_batch(metadata) and self._shared.mutated(Mutation.HANDS_OVER_OLD_BYTES):
            data = bytes((*data[:-1], *(byte ^ 0xFF for byte in data[-1:])))
        self._open(metadata, data, (position,), body)

    def _take_chunk(self, payload: Payload, position: Position, body: pb.CommandMessage) -> None:
        metadata = payload.metadata
        progress = self._chunks.add(metadata, bytes(payload.data), position, self._shared.now_ns)
        self._expire_chunks()
        if progress.acks:
            self._acks.immediately(progress.acks)
        if progress.joined is None:
            is_last = metadata.chunk_id == metadata.num_chunks_from_msg - 1
            keeps = Mutation.LONE_LAST_CHUNK_KEEPS_PERMIT if is_last else Mutation.EARLY_CHUNK_KEEPS_PERMIT
            if not self._shared.mutated(keeps):
                self._permits.give_back(1)
        else:
            self._open(metadata, uncompress(metadata, progress.joined.data), progress.joined.positions, body)

    def _expire_chunks(self) -> None:
        """Give up the messages that are incomplete for too long, and look again when the next one is."""
        if not self._expire_ns or self._shared.mutated(Mutation.INCOMPLETE_NEVER_EXPIRES):
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
        opened = open_entry(metadata, data, self._shared.mutations)
        size = _size(metadata)
        self._taken(Entry(positions, size, bits_of(body.ack_set, size)), opened, metadata, body.redelivery_count)

    # --- what cannot ---

    def _corrupt(self, position: Position, connection: Connection) -> None:
        if self._shared.mutated(Mutation.CORRUPT_CLOSES_CONNECTION):
            connection.close(Cause.LOST, "checksum mismatch")
            return
        permits = 0 if self._shared.mutated(Mutation.CORRUPT_KEEPS_PERMIT) else 1
        self._discard(position, pb.CommandAck.ChecksumMismatch, permits)

    def _unreadable(self, metadata: MessageMetadata, position: Position, reason: pb.CommandAck.ValidationError) -> None:
        permits = _size(metadata)
        if reason == pb.CommandAck.BatchDeSerializeError and self._shared.mutated(Mutation.BAD_BATCH_UNREPORTED):
            self._permits.give_back(permits)
            return
        if self._shared.mutated(Mutation.BAD_BODY_UNREPORTED):
            self._permits.give_back(permits)
            return
        self._discard(position, reason, 0 if self._shared.mutated(Mutation.BAD_BODY_KEEPS_PERMIT) else permits)

    def _discard(self, position: Position, reason: pb.CommandAck.ValidationError, permits: int) -> None:
        """Acknowledge an entry nobody can read, with the reason, so that it does not come again for ever."""
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


def _size(metadata: MessageMetadata) -> int:
    """How many messages an entry holds."""
    return metadata.num_messages_in_batch if is_batch(metadata) else 1


def _charged(metadata: MessageMetadata, ack_set: Sequence[int]) -> int:
    """How many permits the broker charged for an entry."""
    return bits_of(ack_set, _size(metadata)).bit_count()
