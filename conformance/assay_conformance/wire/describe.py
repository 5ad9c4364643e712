"""What a payload carries, as the history records it: metadata, the application's messages, and whether it is intact.

The wire witness describes every SEND and MESSAGE, the broker witness every stored entry; both must say the same of the
same bytes, so both ask here. A description costs a checksum and a digest over the payload and is therefore made once
and kept at the payload, which travels from the client's connection into the broker's store.

Chunks are the exception: the messages inside are known only where the other chunks were seen. A `Describer` remembers
the chunks that one side saw, and reports the joined message with the last one. Names and uuids do not tell messages
apart (producers of two partitions share both), so the caller says which stream of chunks a payload is from.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

import crc32c
import msgspec

from assay_conformance.model.event import Member, Meta
from assay_conformance.model.payload import digest, identify
from assay_conformance.wire.batch import decode_batch
from assay_conformance.wire.compression import Codec, decompress, unpacked_size
from assay_conformance.wire.errors import MetadataError, ProtocolError
from assay_conformance.wire.payload import Payload
from assay_conformance.wire.pulsar_pb2 import MessageMetadata

# A message of many chunks exceeds every frame; what claims to unpack to more than this is not unpacked.
MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024

# Bytes that come of one, at most: no stream of ZLIB makes more, and no message worth the name does.
MOST_UNPACKED: Final = 1_100

LETTER_PROPERTIES: Final = frozenset(
    {
        "RECONSUMETIMES",
        "DELAY_TIME",
        "REAL_TOPIC",
        "RETRY_TOPIC",
        "REAL_SUBSCRIPTION",
        "ORIGIN_MESSAGE_ID",
        "ORIGIN_MESSAGE_IDY_TIME",
    }
)
"""Those of PIP-22 and PIP-58, as the Java, C++ and Go clients write them."""


def data_bytes(payload: Payload) -> int:
    """Return how much it carries; where its metadata cannot be decoded, all of what a broker stores."""
    try:
        return len(payload.data)
    except MetadataError:
        return len(payload.block)


class Description:
    """One payload in the words of the history. `meta` is None where the metadata cannot be decoded.

    `members` is empty where the content cannot be had: damaged, encrypted, or a chunk that is not the last.
    """

    __slots__ = ("intact", "members", "meta", "unit")

    def __init__(self, unit: int, intact: bool, meta: Meta | None, members: tuple[Member, ...]) -> None:
        self.unit = unit
        self.intact = intact
        self.meta = meta
        self.members = members


class Describer:
    """Describes the payloads of one Case that went one way, in the order they came."""

    def __init__(self) -> None:
        self._chunks: dict[tuple[Hashable, str, str], _Chunks] = {}

    def describe(self, payload: Payload, stream: Hashable = None) -> Description:
        """Return what the payload carries.

        Chunks are joined within their `stream`: a topic's store, what is sent to a topic, what a consumer is sent.
        Never raises for what a peer sent: what cannot be read is left out of the description.
        """
        known: Description | None = payload.note
        if known is not None:
            return known
        unit = crc32c.crc32c(payload.checksummed)
        intact = payload.checksum is None or payload.checksum == unit
        try:
            metadata, data = payload.metadata, payload.data
        except MetadataError:
            payload.note = description = Description(unit, intact, None, ())
            return description
        meta = _meta(metadata)
        if meta.chunk_id is not None:
            return Description(unit, intact, meta, self._joined(metadata, meta, bytes(data), unit, stream))
        members = _members(metadata, data)
        if metadata.compression and not members:
            meta = _unpacked(meta, metadata, data)
        payload.note = description = Description(unit, intact, meta, members)
        return description

    def _joined(
        self, metadata: MessageMetadata, meta: Meta, data: bytes, unit: int, stream: Hashable
    ) -> tuple[Member, ...]:
        key = (stream, meta.producer_name, meta.uuid or "")
        chunks = self._chunks.get(key)
        if chunks is None or chunks.count != meta.chunks:
            chunks = self._chunks[key] = _Chunks(meta.chunks or 0)
        return chunks.add(metadata, meta, data, unit)


class _Chunks:
    """The chunks seen of one message. A chunk that comes again replaces itself: the witness joins what was sent."""

    __slots__ = ("count", "last_unit", "members", "pieces")

    def __init__(self, count: int) -> None:
        self.count = count
        self.pieces: dict[int, bytes] = {}
        self.last_unit: int | None = None
        self.members: tuple[Member, ...] = ()

    def add(self, metadata: MessageMetadata, meta: Meta, data: bytes, unit: int) -> tuple[Member, ...]:
        self.pieces[meta.chunk_id or 0] = data
        if meta.chunk_id != self.count - 1:
            return ()
        if not all(number in self.pieces for number in range(self.count)):
            # Sent again alone, after its message was joined and its pieces were let go.
            return self.members if unit == self.last_unit else ()
        whole = b"".join(self.pieces[number] for number in range(self.count))
        self.pieces.clear()
        self.members = _members(metadata, whole)
        self.last_unit = unit
        return self.members


def _unpacked(meta: Meta, metadata: MessageMetadata, data: bytes | memoryview) -> Meta:
    """Return the metadata with what a body that is not as announced does unpack to."""
    if metadata.encryption_keys:
        return meta
    try:
        size = unpacked_size(Codec(metadata.compression), data, min(MAX_MESSAGE_BYTES, MOST_UNPACKED * len(data)))
    except ProtocolError:
        size = -1
    return meta if size == meta.uncompressed_size else msgspec.structs.replace(meta, unpacked_bytes=size)


def _members(metadata: MessageMetadata, data: bytes | memoryview) -> tuple[Member, ...]:
    if metadata.encryption_keys:
        return ()
    try:
        if metadata.compression:
            data = decompress(Codec(metadata.compression), data, metadata.uncompressed_size, MAX_MESSAGE_BYTES)
        if metadata.HasField("num_messages_in_batch"):
            return _batch(data, metadata.num_messages_in_batch)
    except ProtocolError:
        return ()
    return (
        Member(
            size=len(data),
            digest=digest(data),
            identity=identify(data),
            sequence_id=metadata.sequence_id,
            key=metadata.partition_key if metadata.HasField("partition_key") else None,
        ),
    )


def _batch(data: bytes | memoryview, count: int) -> tuple[Member, ...]:
    return tuple(
        Member(
            size=len(member.payload),
            digest=digest(member.payload),
            identity=identify(member.payload),
            sequence_id=member.metadata.sequence_id if member.metadata.HasField("sequence_id") else None,
            key=member.metadata.partition_key if member.metadata.HasField("partition_key") else None,
            compacted_out=member.metadata.compacted_out,
            **_letter({pair.key: pair.value for pair in member.metadata.properties}),
        )
        for member in decode_batch(data, count)
    )


def _meta(metadata: MessageMetadata) -> Meta:
    # One pass over the fields that are there is cheaper than asking for each that might be.
    fields: dict[str, Any] = {}
    for descriptor, value in metadata.ListFields():
        rule = _META_FIELDS.get(descriptor)
        if rule is not None:
            fields[rule[0]] = value if rule[1] is None else rule[1](value)
    if metadata.properties:
        properties = {pair.key: pair.value for pair in metadata.properties}
        fields.update(properties=len(properties), **_letter(properties))
    return Meta(**fields)


def _letter(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return what shows whether a message is a whole copy, and of which message."""
    own = sorted((name, value) for name, value in properties.items() if name not in LETTER_PROPERTIES)
    letter = {name: value for name, value in properties.items() if name in LETTER_PROPERTIES}
    return {"property_digests": tuple(zlib.crc32(json.dumps(one).encode()) for one in own), "letter": letter}


def _by_descriptor(rules: Mapping[str, tuple[str, Callable[[Any], Any] | None]]) -> dict[Any, Any]:
    return {MessageMetadata.DESCRIPTOR.fields_by_name[name]: rule for name, rule in rules.items()}


# Field of the metadata -> field of Meta, and how its value is turned.
_META_FIELDS: Final = _by_descriptor(
    {
        "producer_name": ("producer_name", None),
        "sequence_id": ("sequence_id", None),
        "publish_time": ("publish_time_ms", None),
        "highest_sequence_id": ("highest_sequence_id", None),
        "schema_version": ("schema_version", bytes.hex),
        "num_messages_in_batch": ("batch", None),
        "compression": ("compression", lambda number: Codec(number).name),
        "uncompressed_size": ("uncompressed_size", None),
        "partition_key": ("key", None),
        "ordering_key": ("ordering_key", None),
        "uuid": ("uuid", None),
        "chunk_id": ("chunk_id", None),
        "num_chunks_from_msg": ("chunks", None),
        "total_chunk_msg_size": ("chunk_total_bytes", None),
        "deliver_at_time": ("deliver_at_ms", None),
    }
)
