"""Units of sending: what one SEND carries, built once and kept as bytes until its receipt.

A unit is a message, a batch of messages, or one chunk of a message. Its bytes never change: whatever happens to the
connection, the same frame goes out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay_conformance.client.settings import AccessMode, Compression, ProducerSettings
from assay_conformance.client.values import Outgoing
from assay_conformance.wire import (
    BaseCommand,
    Codec,
    CommandType,
    Member,
    MessageMetadata,
    SingleMessageMetadata,
    command,
    compress,
    encode,
    encode_batch,
)
from assay_conformance.wire import pulsar_pb2 as pb

CODECS: dict[Compression, Codec] = {name: Codec[name.value] for name in Compression}
ACCESS_MODES: dict[AccessMode, pb.ProducerAccessMode] = {
    AccessMode.SHARED: pb.Shared,
    AccessMode.EXCLUSIVE: pb.Exclusive,
    AccessMode.WAIT_FOR_EXCLUSIVE: pb.WaitForExclusive,
    AccessMode.EXCLUSIVE_WITH_FENCING: pb.ExclusiveWithFencing,
}


class TooLargeError(Exception):
    """The message does not fit a frame, and chunking is off or leaves no room. The sentence says which sizes met."""


@dataclass(slots=True)
class Sent:
    """One message inside a unit. `op` is its operation; None when no caller waits for it."""

    op: int | None
    message: Outgoing
    sequence_id: int


@dataclass(slots=True, eq=False)
class Op:
    """One unit. `session` is the registration it was last written in, None before; `number` counts units from 0.
    `part_of` is the message of a chunk that is not its last."""

    sequence_id: int
    frame: bytes
    created_ns: int
    sent: Sequence[Sent]
    batch: bool = False
    session: int | None = None
    number: int = 0
    part_of: Sent | None = None
    highest: int = -1
    """The highest id in its SEND, where that has one."""

    @property
    def certain(self) -> bool:
        """Whether, if it fails now, it surely did not happen: no byte of it was ever written."""
        return self.session is None


class OpBuilder:
    """Builds the units of one producer. `name` and `schema_version` are known once the broker has answered PRODUCER."""

    def __init__(self, producer_id: int, settings: ProducerSettings) -> None:
        self.name = ""
        self.schema_version = b""
        self._producer_id = producer_id
        self._codec = CODECS[settings.compression]
        self._least_compressed = settings.compression_min_bytes
        self._chunking = settings.chunking
        self._most_of_a_chunk = settings.chunk_max_message_bytes

    def message(self, sent: Sent, max_message_bytes: int, created_ns: int, unix_ms: int) -> list[Op]:
        """Return the unit of one message, or one unit for each of its chunks. Raises TooLargeError."""
        metadata = self._metadata(sent, unix_ms)
        data = self._compressed(metadata, sent.message.payload)
        room = self._room(metadata, max_message_bytes)
        if self._chunking and self._most_of_a_chunk:
            room = min(room, self._most_of_a_chunk)
        if self._fits(data, room):
            send = command(CommandType.SEND, producer_id=self._producer_id, sequence_id=sent.sequence_id)
            return [Op(sent.sequence_id, encode(send, metadata=metadata, data=data), created_ns, (sent,))]
        if not self._chunking or room <= 0:
            raise TooLargeError(
                f"message of {len(data)} bytes with {metadata.ByteSize()} of metadata, the broker takes "
                f"{max_message_bytes}"
            )
        return self._chunks(sent, metadata, data, room, created_ns)

    def _room(self, metadata: MessageMetadata, max_message_bytes: int) -> int:
        """Return the room for a body: with its metadata it keeps the broker's limit."""
        return max_message_bytes - metadata.ByteSize()

    def _fits(self, data: bytes, room: int) -> bool:
        return len(data) <= room

    def batch(self, batch: Sequence[Sent], max_message_bytes: int, created_ns: int, unix_ms: int) -> Op:
        """Return one unit of these messages, numbered by the lowest and the highest id. Raises TooLargeError."""
        return self._batch(self._batch_metadata(batch, unix_ms), batch, max_message_bytes, created_ns)

    def _batch_metadata(self, batch: Sequence[Sent], unix_ms: int) -> MessageMetadata:
        metadata = self._metadata(batch[0], unix_ms, whole=False)
        metadata.highest_sequence_id = batch[-1].sequence_id
        return metadata

    def keyed_batch(self, batch: Sequence[Sent], max_message_bytes: int, created_ns: int, unix_ms: int) -> Op:
        """Return one unit of messages that share a key. Raises TooLargeError.

        Ids of several open batches interleave, so each goes by its highest id alone: with a range, deduplication would
        take the next one, which starts lower, for a duplicate.
        """
        return self._batch(self._keyed_metadata(batch, unix_ms), batch, max_message_bytes, created_ns)

    def _keyed_metadata(self, batch: Sequence[Sent], unix_ms: int) -> MessageMetadata:
        metadata = self._metadata(batch[-1], unix_ms, whole=False)
        _set_keys(metadata, batch[0].message)
        return metadata

    def _batch(self, metadata: MessageMetadata, batch: Sequence[Sent], max_message_bytes: int, created_ns: int) -> Op:
        metadata.num_messages_in_batch = len(batch)
        data = self._batch_body(metadata, batch)
        if len(data) + metadata.ByteSize() > max_message_bytes:
            raise TooLargeError(f"batch of {len(data)} bytes, the broker takes {max_message_bytes}")
        send = self._batch_command(metadata)
        frame, highest = encode(send, metadata=metadata, data=data), metadata.highest_sequence_id
        return Op(metadata.sequence_id, frame, created_ns, batch, batch=True, highest=highest)

    def _batch_command(self, metadata: MessageMetadata) -> BaseCommand:
        return command(
            CommandType.SEND,
            producer_id=self._producer_id,
            sequence_id=metadata.sequence_id,
            num_messages=metadata.num_messages_in_batch,
            highest_sequence_id=metadata.highest_sequence_id,
        )

    def _batch_body(self, metadata: MessageMetadata, batch: Sequence[Sent]) -> bytes:
        return self._compressed(metadata, self._members(batch))

    def _chunks(self, sent: Sent, metadata: MessageMetadata, data: bytes, room: int, created_ns: int) -> list[Op]:
        count = -(-len(data) // room)
        metadata.uuid = self._uuid(sent)
        metadata.num_chunks_from_msg = count
        metadata.total_chunk_msg_size = len(data)
        send = self._chunk_command(sent)
        ops: list[Op] = []
        for chunk in range(count):
            metadata.chunk_id = chunk
            frame = encode(send, metadata=metadata, data=data[chunk * room : (chunk + 1) * room])
            # Only the last chunk's receipt completes the message.
            last = chunk == count - 1
            waiting, part_of = ((sent,), None) if last else ((), sent)
            ops.append(Op(sent.sequence_id, frame, created_ns, waiting, part_of=part_of))
        return ops

    def _uuid(self, sent: Sent) -> str:
        return f"{self.name}-{sent.sequence_id}"

    def _chunk_command(self, sent: Sent) -> BaseCommand:
        return command(CommandType.SEND, producer_id=self._producer_id, sequence_id=sent.sequence_id, is_chunk=True)

    def _metadata(self, sent: Sent, unix_ms: int, *, whole: bool = True) -> MessageMetadata:
        """Return the metadata of an entry; `whole`: of this one message, whose own fields it then carries."""
        metadata = MessageMetadata(producer_name=self.name, sequence_id=sent.sequence_id, publish_time=unix_ms)
        if self.schema_version:
            metadata.schema_version = self.schema_version
        if not whole:
            return metadata
        message = sent.message
        metadata.properties.extend(_properties(message))
        _set_keys(metadata, message)
        if message.event_time_ms is not None:
            metadata.event_time = message.event_time_ms
        if message.deliver_at_ms is not None:
            metadata.deliver_at_time = message.deliver_at_ms
        return metadata

    def _compressed(self, metadata: MessageMetadata, data: bytes) -> bytes:
        if self._codec is Codec.NONE or len(data) < self._least_compressed:
            return data
        metadata.compression = pb.CompressionType.Name(self._codec)  # type: ignore[assignment]
        metadata.uncompressed_size = len(data)
        return self._encoded(data)

    def _encoded(self, data: bytes) -> bytes:
        return compress(self._codec, data)

    def _members(self, batch: Sequence[Sent]) -> bytes:
        return encode_batch([self._member(sent) for sent in batch])

    def _member(self, sent: Sent) -> Member:
        message = sent.message
        single = SingleMessageMetadata(properties=_properties(message), sequence_id=sent.sequence_id)
        if message.key is not None:
            single.partition_key = message.key
        if message.ordering_key is not None:
            single.ordering_key = message.ordering_key.encode()
        if message.event_time_ms is not None:
            single.event_time = message.event_time_ms
        return Member(single, message.payload)


def _set_keys(metadata: MessageMetadata, message: Outgoing) -> None:
    if message.key is not None:
        metadata.partition_key = message.key
    if message.ordering_key is not None:
        metadata.ordering_key = message.ordering_key.encode()


def _properties(message: Outgoing) -> list[pb.KeyValue]:
    return [pb.KeyValue(key=key, value=value) for key, value in message.properties.items()]
