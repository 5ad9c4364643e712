"""What a MESSAGE holds: an entry of the topic, opened into the messages an application gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay_conformance.client.values import Outgoing
from assay_conformance.wire import (
    BatchError,
    Codec,
    CompressionError,
    MessageMetadata,
    SingleMessageMetadata,
    decode_batch,
    decompress,
    is_batch,
)
from assay_conformance.wire import pulsar_pb2 as pb

Position = tuple[int, int]
"""(ledger, entry): what acknowledgments and redelivery requests name."""

MAX_UNCOMPRESSED_BYTES = 64 * 1024 * 1024
"""What says it is larger is not unpacked: an announced size need not be true, and its memory would be allocated
first."""

_WORD_BITS = 64
_WORD = 2**_WORD_BITS - 1


class BadEntryError(Exception):
    """An entry that cannot be opened; `reason` is the validation error of its acknowledgment."""

    def __init__(self, reason: pb.CommandAck.ValidationError, text: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(slots=True, eq=False)
class Entry:
    """One entry as this consumer holds it: `unacked` has bit i set while message i is not acknowledged.

    `positions` are those of all chunks for a chunked message, the last one its own.
    """

    positions: tuple[Position, ...]
    size: int
    unacked: int
    letters: dict[int, Outgoing] = field(default_factory=dict)
    """Copies for the dead letter topic, by place in the batch, once the entry was redelivered often enough."""

    @property
    def position(self) -> Position:
        return self.positions[-1]


@dataclass(frozen=True, slots=True)
class Opened:
    """One message of an entry; `index` is None when the entry is no batch."""

    index: int | None
    payload: bytes
    sequence_id: int
    key: str | None
    event_time_ms: int | None
    properties: dict[str, str]
    ordering_key: str | None = None


def check_size(data: memoryview, limit: int) -> None:
    """Raise BadEntryError when the body as stored exceeds `limit`.

    Uncompressed it may: no frame has to hold that. The reason is the Java client's, in
    ConsumerImpl.uncompressPayloadIfNeeded.
    """
    if len(data) > limit:
        raise BadEntryError(
            pb.CommandAck.UncompressedSizeCorruption, f"{len(data)} bytes, {limit} are the broker's limit"
        )


def uncompress(metadata: MessageMetadata, data: bytes | memoryview) -> bytes:
    """Return the body of an entry. Raises BadEntryError when it does not decompress to what the metadata says."""
    codec = Codec(metadata.compression)
    if codec is Codec.NONE:
        return bytes(data)
    if metadata.uncompressed_size > MAX_UNCOMPRESSED_BYTES:
        text = f"{metadata.uncompressed_size} bytes uncompressed, at most {MAX_UNCOMPRESSED_BYTES} are taken"
        raise BadEntryError(pb.CommandAck.UncompressedSizeCorruption, text)
    try:
        return decompress(codec, data, metadata.uncompressed_size, MAX_UNCOMPRESSED_BYTES)
    except CompressionError as error:
        raise BadEntryError(pb.CommandAck.DecompressionError, str(error)) from error


def open_entry(metadata: MessageMetadata, body: bytes) -> list[Opened]:
    """Return the messages of an entry in order, compacted ones left out. Raises BadEntryError for a malformed batch."""
    if not is_batch(metadata):
        return [open_single(metadata, body)]
    try:
        members = decode_batch(body, metadata.num_messages_in_batch)
    except BatchError as error:
        raise BadEntryError(pb.CommandAck.BatchDeSerializeError, str(error)) from error
    return [
        _member(metadata, index, member.metadata, member.payload)
        for index, member in enumerate(members)
        if not member.metadata.compacted_out
    ]


def open_single(metadata: MessageMetadata, body: bytes) -> Opened:
    """Return the only message of an entry that is no batch."""
    key = metadata.partition_key if metadata.HasField("partition_key") else None
    event_time_ms = metadata.event_time if metadata.HasField("event_time") else None
    properties = {pair.key: pair.value for pair in metadata.properties}
    ordering_key = _text(metadata.ordering_key)
    return Opened(None, body, metadata.sequence_id, key, event_time_ms, properties, ordering_key)


def _member(metadata: MessageMetadata, index: int, single: SingleMessageMetadata, payload: bytes) -> Opened:
    return Opened(
        index,
        payload,
        single.sequence_id if single.HasField("sequence_id") else metadata.sequence_id,
        single.partition_key if single.HasField("partition_key") else None,
        single.event_time if single.HasField("event_time") else None,
        {pair.key: pair.value for pair in single.properties},
        _text(single.ordering_key),
    )


def _text(key: bytes) -> str | None:
    return key.decode(errors="replace") if key else None


def bits_of(ack_set: Sequence[int], size: int) -> int:
    """Return the messages that an ack_set leaves unacknowledged, as bits; an empty one leaves all of them."""
    everything = (1 << size) - 1
    if not ack_set:
        return everything
    bits = 0
    for index, word in enumerate(ack_set):
        bits |= (word & _WORD) << (_WORD_BITS * index)
    return bits & everything


def ack_set_of(bits: int) -> list[int]:
    """Return the words of an ack_set, signed as on the wire."""
    words = []
    while bits:
        word = bits & _WORD
        words.append(word - 2**_WORD_BITS if word >= 2 ** (_WORD_BITS - 1) else word)
        bits >>= _WORD_BITS
    return words
