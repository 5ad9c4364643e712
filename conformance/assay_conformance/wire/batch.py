"""Batches: many messages in the payload of one entry.

    repeat: singleMetadataSize u32 | SingleMessageMetadata | payload_size bytes

The count stands in the entry's metadata. The presence of num_messages_in_batch, not its value, makes a payload a batch.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from google.protobuf.message import DecodeError

from assay_conformance.wire.errors import BatchError
from assay_conformance.wire.payload import SIZE, missing_fields
from assay_conformance.wire.pulsar_pb2 import MessageMetadata, SingleMessageMetadata

# The runtime parses any buffer, which saves a copy for each member; its stubs know bytes alone.
_parse: Callable[[memoryview], SingleMessageMetadata] = SingleMessageMetadata.FromString  # type: ignore[assignment]


@dataclass(slots=True)
class Member:
    """One message of a batch."""

    metadata: SingleMessageMetadata
    payload: bytes


def is_batch(metadata: MessageMetadata) -> bool:
    """Return whether the payload after this metadata is a batch; a batch of one is one too."""
    return metadata.HasField("num_messages_in_batch")


def encode_batch(members: Iterable[Member]) -> bytes:
    """Return the payload of an entry, before compression. Sets each `payload_size` from the payload itself."""
    parts: list[bytes] = []
    for member in members:
        metadata = SingleMessageMetadata()
        metadata.CopyFrom(member.metadata)
        metadata.payload_size = len(member.payload)
        head = metadata.SerializeToString()
        parts += (SIZE.pack(len(head)), head, member.payload)
    return b"".join(parts)


def decode_batch(data: bytes | memoryview, count: int) -> list[Member]:
    """Return the members of a decompressed payload.

    Raises BatchError unless exactly `count` members fill the payload.
    """
    if count < 1:
        raise BatchError(f"batch: expected at least one member, the metadata says {count}")
    view = memoryview(data)
    members: list[Member] = []
    start = 0
    for number in range(count):
        try:
            body = start + SIZE.size
            end = body + SIZE.unpack_from(view, start)[0]
            metadata = _parse(view[body:end])
        except (struct.error, DecodeError) as error:
            raise BatchError(f"batch: metadata of member {number} of {count} cannot be decoded: {error}") from error
        if not metadata.IsInitialized():
            raise BatchError(f"batch: metadata of member {number} of {count} lacks {missing_fields(metadata)}")
        start = end + metadata.payload_size
        if metadata.payload_size < 0 or start > len(view):
            raise BatchError(
                f"batch: member {number} of {count} has a payload of {metadata.payload_size} bytes at {end}, "
                f"the batch ends at {len(view)}"
            )
        members.append(Member(metadata, bytes(view[end:start])))
    if start != len(view):
        raise BatchError(f"batch: {len(view) - start} bytes after the last of {count} members")
    return members
