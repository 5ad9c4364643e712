"""What stands behind the command of a SEND or MESSAGE, read without copying it.

    [0x0e02 | size u32 | broker entry metadata] [0x0e01 | checksum u32] metadataSize u32 | metadata | data

The first bracket is the broker's, in MESSAGE alone. The second is absent from peers older than protocol version 6; its
CRC-32C covers everything after itself. What a checksum covers is judged only when it is asked for: a receiver verifies
the checksum before it believes the sizes after it, so a flipped bit there is a checksum error and the connection lives
on, while a flipped bit in front of it is a `ProtocolError` of the frame.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

import crc32c
from google.protobuf.message import DecodeError, Message

from assay_conformance.wire.command_type import CommandType
from assay_conformance.wire.errors import MetadataError, ProtocolError
from assay_conformance.wire.pulsar_pb2 import BrokerEntryMetadata, MessageMetadata

CHECKSUM_MAGIC: Final = 0x0E01
ENTRY_MAGIC: Final = 0x0E02
SIZE: Final = struct.Struct(">I")
HEAD: Final = struct.Struct(">HI")
_MAGIC = struct.Struct(">H")

# The runtime parses any buffer, which saves a copy for each frame; its stubs know bytes alone.
_parse_entry: Callable[[memoryview], BrokerEntryMetadata] = BrokerEntryMetadata.FromString  # type: ignore[assignment]
_parse_metadata: Callable[[memoryview], MessageMetadata] = MessageMetadata.FromString  # type: ignore[assignment]


class Payload:
    """What follows the command of a SEND or MESSAGE: views into the frame, parsed when asked.

    `block` is the part a broker stores and sends on unread: everything after the broker entry metadata. `checksum` is
    None where the frame has none. `checksummed` is what a checksum covers: metadata size, metadata and data. `note` is
    free for what is found out once about these bytes and holds wherever they go (describe.py).
    """

    __slots__ = ("_broker_entry", "_metadata", "_metadata_end", "block", "checksum", "checksummed", "note")

    def __init__(self, view: memoryview, command_type: int) -> None:
        self._broker_entry: memoryview | None = None
        self._metadata: MessageMetadata | None = None
        self._metadata_end = 0
        if command_type == CommandType.MESSAGE and _magic(view) == ENTRY_MAGIC:
            view = self._skip_broker_entry(view)
        self.block = view
        self.note: Any = None
        self.checksum: int | None = None
        self.checksummed = view
        if _magic(view) == CHECKSUM_MAGIC:
            if len(view) < HEAD.size:
                raise ProtocolError(f"payload: expected 4 bytes of checksum after 0x0e01, got {len(view) - 2}")
            self.checksum = HEAD.unpack_from(view)[1]
            self.checksummed = view[HEAD.size :]

    def _skip_broker_entry(self, view: memoryview) -> memoryview:
        if len(view) < HEAD.size:
            raise ProtocolError(f"payload: expected the size of broker entry metadata, got {len(view) - 2} bytes")
        end = HEAD.size + HEAD.unpack_from(view)[1]
        if end > len(view):
            raise ProtocolError(f"payload: broker entry metadata ends at {end}, the frame at {len(view)}")
        self._broker_entry = view[HEAD.size : end]
        return view[end:]

    def checksum_ok(self) -> bool:
        """Return whether the checksum fits what it covers; True when there is none."""
        return self.checksum is None or crc32c.crc32c(self.checksummed) == self.checksum

    @property
    def broker_entry(self) -> BrokerEntryMetadata | None:
        """What the broker put in front, None where it put nothing. Raises MetadataError."""
        if self._broker_entry is None:
            return None
        try:
            return _parse_entry(self._broker_entry)
        except DecodeError as error:
            raise MetadataError(f"broker entry metadata cannot be decoded: {error}") from error

    @property
    def metadata(self) -> MessageMetadata:
        """The metadata in front of the data, the same object each time. Raises MetadataError."""
        if self._metadata is None:
            view = self.checksummed[4 : self._end_of_metadata()]
            try:
                metadata = _parse_metadata(view)
            except DecodeError as error:
                raise MetadataError(f"message metadata of {len(view)} bytes cannot be decoded: {error}") from error
            if not metadata.IsInitialized():
                raise MetadataError(f"message metadata lacks {missing_fields(metadata)}")
            self._metadata = metadata
        return self._metadata

    @property
    def metadata_bytes(self) -> bytes:
        """The metadata as it crossed the wire. Raises MetadataError when its size is wrong."""
        return bytes(self.checksummed[4 : self._end_of_metadata()])

    @property
    def data(self) -> memoryview:
        """The bytes after the metadata: body, batch or chunk, still compressed. Raises MetadataError."""
        return self.checksummed[self._end_of_metadata() :]

    def _end_of_metadata(self) -> int:
        if not self._metadata_end:
            view = self.checksummed
            if len(view) < SIZE.size:
                raise MetadataError(f"payload: expected 4 bytes of metadata size, got {len(view)}")
            end = SIZE.size + int(SIZE.unpack_from(view)[0])
            if end > len(view):
                raise MetadataError(f"message metadata ends at {end}, the frame at {len(view)}")
            self._metadata_end = end
        return self._metadata_end


def missing_fields(message: Message) -> str:
    """Return the required fields that a message lacks, for a sentence."""
    return ", ".join(message.FindInitializationErrors())  # type: ignore[attr-defined]


def _magic(view: memoryview) -> int:
    """Return the first two bytes as a number; 0 where there are fewer."""
    return int(_MAGIC.unpack_from(view)[0]) if len(view) >= _MAGIC.size else 0
