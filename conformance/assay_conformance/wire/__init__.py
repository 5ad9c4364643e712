"""The Pulsar wire: frames, commands, metadata, checksums."""

from __future__ import annotations

from assay_conformance.wire.commands import NO_ID, command, message_id
from assay_conformance.wire.errors import (
    BatchError,
    ChunkError,
    CompressionError,
    FramingError,
    LocalProtocolError,
    MetadataError,
    ProtocolError,
)
from assay_conformance.wire.frame import (
    BODY_FIELDS,
    DEFAULT_MAX_FRAME_BYTES,
    DEFAULT_MAX_MESSAGE_BYTES,
    FRAME_PADDING_BYTES,
    PAYLOAD_TYPES,
    CommandType,
    Frame,
    Payload,
    Splitter,
    decode,
    encode,
    encode_around,
    encode_block,
)
from assay_conformance.wire.pulsar_pb2 import (
    BaseCommand,
    BrokerEntryMetadata,
    MessageIdData,
    MessageMetadata,
    SingleMessageMetadata,
)

__all__ = [
    "BODY_FIELDS",
    "DEFAULT_MAX_FRAME_BYTES",
    "DEFAULT_MAX_MESSAGE_BYTES",
    "FRAME_PADDING_BYTES",
    "NO_ID",
    "PAYLOAD_TYPES",
    "BaseCommand",
    "BatchError",
    "BrokerEntryMetadata",
    "ChunkError",
    "CommandType",
    "CompressionError",
    "Frame",
    "FramingError",
    "LocalProtocolError",
    "MessageIdData",
    "MessageMetadata",
    "MetadataError",
    "Payload",
    "ProtocolError",
    "SingleMessageMetadata",
    "Splitter",
    "command",
    "decode",
    "encode",
    "encode_around",
    "encode_block",
    "message_id",
]
