"""Pulsar frames: bytes to frames and back.

    totalSize u32 | commandSize u32 | command | payload          all integers big-endian; totalSize counts what follows

Only SEND and MESSAGE carry a payload (payload.py). A stream is cut into frames by splitter.py.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import crc32c
from google.protobuf.message import DecodeError, EncodeError

from assay_conformance.wire.command_type import BODY_FIELDS, PAYLOAD_TYPES, TYPES, CommandType, name_of
from assay_conformance.wire.errors import LocalProtocolError, ProtocolError
from assay_conformance.wire.payload import CHECKSUM_MAGIC, ENTRY_MAGIC, HEAD, SIZE, Payload, missing_fields
from assay_conformance.wire.pulsar_pb2 import BaseCommand, BrokerEntryMetadata, MessageMetadata

SIZES = struct.Struct(">II")
# The runtime parses any buffer, which saves a copy for each frame; its stubs know bytes alone.
_parse_command: Callable[[memoryview], BaseCommand] = BaseCommand.FromString  # type: ignore[assignment]


class Frame:
    """One whole frame. Not to be changed; equal to a frame of the same bytes.

    `type` is a plain int where the protocol has no such command. `payload` is None for all but SEND and MESSAGE.
    """

    __slots__ = ("command", "payload", "raw", "type")

    def __init__(self, raw: bytes, command_type: CommandType | int, command: BaseCommand, payload: Payload | None):
        self.raw = raw
        self.type = command_type
        self.command = command
        self.payload = payload

    @property
    def body(self) -> Any:
        """The message of this command, such as a CommandSend; None for a type that has none here."""
        name = BODY_FIELDS.get(self.type)
        return None if name is None else getattr(self.command, name)

    def __eq__(self, other: object) -> bool:
        return self.raw == other.raw if isinstance(other, Frame) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"<Frame {name_of(self.type)} of {len(self.raw)} bytes>"


def decode(raw: bytes) -> Frame:
    """Read one whole frame, from its totalSize on.

    Raises ProtocolError for sizes that contradict each other, a command that cannot be decoded, lacks a required field
    or lacks the message of its type, and for bytes after a command that takes no payload.
    """
    if len(raw) < SIZES.size:
        raise ProtocolError(f"frame: expected at least {SIZES.size} bytes, got {len(raw)}")
    total_size, command_size = SIZES.unpack_from(raw)
    end = SIZES.size + command_size
    if total_size != len(raw) - SIZE.size or end > len(raw):
        raise ProtocolError(
            f"frame: totalSize {total_size} and commandSize {command_size} do not fit a frame of {len(raw)} bytes"
        )
    view = memoryview(raw)
    command = _command(view[SIZES.size : end])
    number = command.type
    command_type = TYPES.get(number, number)
    if number in PAYLOAD_TYPES:
        return Frame(raw, command_type, command, Payload(view[end:], number))
    if end != len(raw) and number in BODY_FIELDS:
        raise ProtocolError(f"{name_of(number)}: ends at {end}, the frame at {len(raw)}; it takes no payload")
    return Frame(raw, command_type, command, None)


def _command(view: memoryview) -> BaseCommand:
    try:
        command = _parse_command(view)
    except DecodeError as error:
        raise ProtocolError(f"command of {len(view)} bytes cannot be decoded: {error}") from error
    if not command.IsInitialized():
        raise ProtocolError(f"command {name_of(command.type)} lacks {missing_fields(command)}")
    field = BODY_FIELDS.get(command.type)
    if field is not None and not command.HasField(field):
        raise ProtocolError(f"command {name_of(command.type)} lacks its field {field}")
    return command


def encode(
    command: BaseCommand,
    *,
    metadata: MessageMetadata | bytes | None = None,
    data: bytes | memoryview = b"",
    checksum: bool = True,
    broker_entry: BrokerEntryMetadata | bytes | None = None,
) -> bytes:
    """Return the frame of a command; SEND and MESSAGE, and only these, take metadata and data.

    Raises LocalProtocolError for a command without its message or a required field, for a payload where none belongs or
    none where one does, and for broker entry metadata outside MESSAGE.
    """
    block = None if metadata is None else encode_block(metadata, data, checksum=checksum)
    if block is None and data:
        raise LocalProtocolError(f"{name_of(command.type)}: data needs metadata in front of it")
    return encode_around(command, block, broker_entry=broker_entry)


def encode_block(metadata: MessageMetadata | bytes, data: bytes | memoryview, *, checksum: bool = True) -> bytes:
    """Return what a producer sends after the command, and a broker stores unchanged: checksum, metadata, data."""
    head = metadata if isinstance(metadata, bytes) else serialize(metadata)
    covered = b"".join((SIZE.pack(len(head)), head, data))
    if not checksum:
        return covered
    return HEAD.pack(CHECKSUM_MAGIC, crc32c.crc32c(covered)) + covered


def without_checksum(raw: bytes) -> bytes:
    """Return the same SEND for a broker that knows no checksum, as before protocol version 6.

    Raises ProtocolError for bytes that are no frame.
    """
    frame = decode(raw)
    if frame.payload is None or frame.payload.checksum is None:
        return raw
    return encode_around(frame.command, frame.payload.checksummed)


def encode_around(
    command: BaseCommand,
    block: bytes | memoryview | None = None,
    *,
    broker_entry: BrokerEntryMetadata | bytes | None = None,
) -> bytes:
    """Return the frame of a command around a block that is sent unchanged: its checksum is not computed or verified.

    Raises LocalProtocolError as `encode` does.
    """
    field = BODY_FIELDS.get(command.type)
    if field is not None and not command.HasField(field):
        raise LocalProtocolError(f"{name_of(command.type)} needs its field {field}")
    if (block is not None) != (command.type in PAYLOAD_TYPES):
        raise LocalProtocolError(f"{name_of(command.type)}: SEND and MESSAGE take a payload, no other command does")
    if broker_entry is not None and command.type != CommandType.MESSAGE:
        raise LocalProtocolError(f"{name_of(command.type)}: only MESSAGE takes broker entry metadata")
    head = serialize(command)
    entry = b"" if broker_entry is None else _entry(broker_entry)
    tail = b"" if block is None else block
    total_size = SIZE.size + len(head) + len(entry) + len(tail)
    return b"".join((SIZES.pack(total_size, len(head)), head, entry, tail))


def _entry(broker_entry: BrokerEntryMetadata | bytes) -> bytes:
    body = broker_entry if isinstance(broker_entry, bytes) else serialize(broker_entry)
    return HEAD.pack(ENTRY_MAGIC, len(body)) + body


def serialize(message: BaseCommand | MessageMetadata | BrokerEntryMetadata) -> bytes:
    """Return the bytes of a message, fields by number. Raises LocalProtocolError when a required one is missing."""
    try:
        return message.SerializeToString()
    except EncodeError as error:
        raise LocalProtocolError(f"cannot encode: {error}") from error
