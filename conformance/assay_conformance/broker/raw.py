"""Entries a Case writes into a topic itself: what no honest producer, or none of the clients here, would store."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import msgspec
from google.protobuf.descriptor import FieldDescriptor

from assay_conformance.model.agent import Generated
from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import Identity
from assay_conformance.model.payload import generate
from assay_conformance.wire import (
    Codec,
    CommandType,
    Member,
    MessageMetadata,
    Payload,
    SingleMessageMetadata,
    compress,
    encode_batch,
    encode_block,
)

M = TypeVar("M", MessageMetadata, SingleMessageMetadata)


class _Content(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a message carries: `data` (base64) or a generated `payload`; neither: nothing."""

    data: bytes = b""
    payload: Generated | None = None

    def content(self) -> bytes:
        if self.payload is None:
            return self.data
        made = self.payload
        return generate(Identity(made.case, made.handle, made.number), made.size, made.seed)


class StoredMember(_Content, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message of a batch; `metadata` are further fields of SingleMessageMetadata by name."""

    key: str | None = None
    sequence_id: int | None = None
    metadata: dict[str, Any] = {}

    def member(self) -> Member:
        content = self.content()
        fields: dict[str, Any] = {"partition_key": self.key, "sequence_id": self.sequence_id}
        return Member(_build(SingleMessageMetadata, fields | self.metadata), content)


class StoredEntry(_Content, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An unbatched message, or a batch where `members` are given. `metadata` are fields of MessageMetadata by name and
    win over everything else. `sequence_id` is the number in the step's list where none is given, `publish_time` now.
    The uncompressed size stands where the Java client writes it: with everything but a batch that is not compressed;
    with each chunk it is that of the whole message.
    `damaged` stores a checksum that does not fit."""

    members: tuple[StoredMember, ...] = ()
    producer_name: str = "stored"
    sequence_id: int | None = None
    key: str | None = None
    uuid: str | None = None
    chunk_id: int | None = None
    num_chunks_from_msg: int | None = None
    total_chunk_msg_size: int | None = None
    compression: Literal["NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"] = "NONE"
    metadata: dict[str, Any] = {}
    copies: int = 1
    damaged: bool = False

    def payload_frame(self, number: int, unix_ms: int) -> Payload:
        """Return what a SEND of this entry would have carried after its command."""
        codec = Codec[self.compression]
        content = encode_batch(member.member() for member in self.members) if self.members else self.content()
        fields: dict[str, Any] = {
            "producer_name": self.producer_name,
            "sequence_id": number if self.sequence_id is None else self.sequence_id,
            "publish_time": unix_ms,
            "partition_key": self.key,
            "uuid": self.uuid,
            "chunk_id": self.chunk_id,
            "num_chunks_from_msg": self.num_chunks_from_msg,
            "total_chunk_msg_size": self.total_chunk_msg_size,
            "num_messages_in_batch": len(self.members) or None,
            "compression": codec or None,
            "uncompressed_size": self._uncompressed_size(content, codec),
        }
        metadata = _build(MessageMetadata, fields | self.metadata)
        block = bytearray(encode_block(metadata, compress(codec, content)))
        if self.damaged:
            block[-1] ^= 1
        return Payload(memoryview(bytes(block)), CommandType.SEND)

    def _uncompressed_size(self, content: bytes, codec: Codec) -> int | None:
        if self.members and codec is Codec.NONE:
            return None
        return len(content) if self.total_chunk_msg_size is None else self.total_chunk_msg_size


def _build(kind: Callable[..., M], fields: dict[str, Any]) -> M:
    """Return the protobuf message of these fields; those that are None are left out."""
    try:
        return kind(**{name: _value(kind, name, value) for name, value in fields.items() if value is not None})
    except (TypeError, ValueError) as error:
        raise UsageError(f"store_entries: {error}") from error


def _value(kind: Callable[..., M], name: str, value: Any) -> Any:
    """Return a field's value; bytes are base64 in JSON."""
    field = kind.DESCRIPTOR.fields_by_name.get(name)  # type: ignore[attr-defined]
    is_bytes = field is not None and field.type == FieldDescriptor.TYPE_BYTES
    return base64.b64decode(value, validate=True) if is_bytes and isinstance(value, str) else value
