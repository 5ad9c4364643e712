"""The Pulsar wire: frames, commands, metadata, checksums, compression, batches, chunks, hashes. Bytes in, values out.

A stream goes through a `Splitter` to raw frames, each through `decode` to a `Frame`, and its `payload`, when asked,
gives metadata and data; `encode` goes the other way, and `reencode` changes a frame and leaves the rest as it was.
Whatever the bytes, the way in ends in values or a `ProtocolError`.
"""

from __future__ import annotations

from assay_conformance.wire.batch import Member, decode_batch, encode_batch, is_batch
from assay_conformance.wire.chunk import (
    Added,
    Assembled,
    ChunkAssembler,
    Duplicate,
    EntryId,
    Gap,
    Restarted,
    Waiting,
    is_chunk,
    split_chunks,
)
from assay_conformance.wire.command_type import BODY_FIELDS, PAYLOAD_TYPES, CommandType
from assay_conformance.wire.commands import NO_ID, command, message_id
from assay_conformance.wire.compression import Codec, compress, decompress
from assay_conformance.wire.describe import Describer, Description, data_bytes
from assay_conformance.wire.errors import (
    BatchError,
    ChunkError,
    CompressionError,
    FramingError,
    LocalProtocolError,
    MetadataError,
    ProtocolError,
)
from assay_conformance.wire.frame import Frame, decode, encode, encode_around, encode_block, without_checksum
from assay_conformance.wire.hashes import (
    STICKY_RANGE,
    java_string_hash,
    murmur3_32,
    murmur3_32_raw,
    sign_safe_mod,
    sticky_key_hash,
)
from assay_conformance.wire.payload import Payload
from assay_conformance.wire.pulsar_pb2 import (
    BaseCommand,
    BrokerEntryMetadata,
    MessageIdData,
    MessageMetadata,
    SingleMessageMetadata,
)
from assay_conformance.wire.reencode import reencode
from assay_conformance.wire.splitter import (
    DEFAULT_MAX_FRAME_BYTES,
    DEFAULT_MAX_MESSAGE_BYTES,
    FRAME_PADDING_BYTES,
    Splitter,
)

__all__ = [
    "BODY_FIELDS",
    "DEFAULT_MAX_FRAME_BYTES",
    "DEFAULT_MAX_MESSAGE_BYTES",
    "FRAME_PADDING_BYTES",
    "NO_ID",
    "PAYLOAD_TYPES",
    "STICKY_RANGE",
    "Added",
    "Assembled",
    "BaseCommand",
    "BatchError",
    "BrokerEntryMetadata",
    "ChunkAssembler",
    "ChunkError",
    "Codec",
    "CommandType",
    "CompressionError",
    "Describer",
    "Description",
    "Duplicate",
    "EntryId",
    "Frame",
    "FramingError",
    "Gap",
    "LocalProtocolError",
    "Member",
    "MessageIdData",
    "MessageMetadata",
    "MetadataError",
    "Payload",
    "ProtocolError",
    "Restarted",
    "SingleMessageMetadata",
    "Splitter",
    "Waiting",
    "command",
    "compress",
    "data_bytes",
    "decode",
    "decode_batch",
    "decompress",
    "encode",
    "encode_around",
    "encode_batch",
    "encode_block",
    "is_batch",
    "is_chunk",
    "java_string_hash",
    "message_id",
    "murmur3_32",
    "murmur3_32_raw",
    "reencode",
    "sign_safe_mod",
    "split_chunks",
    "sticky_key_hash",
    "without_checksum",
]
