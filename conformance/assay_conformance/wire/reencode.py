"""A frame changed in some fields and left in its sender's hand for the rest.

Protobuf leaves much to the writer: the order of fields, longer forms of numbers, fields said twice. `encode` writes
fields by number and says each once; `reencode` follows the bytes that came, field by field. What means the same stays
as it is, what has another value is replaced in its place, what was removed is left out, and what is new goes behind the
others of its message.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import crc32c
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from assay_conformance.wire.command_type import name_of
from assay_conformance.wire.errors import LocalProtocolError
from assay_conformance.wire.frame import SIZES, Frame, serialize
from assay_conformance.wire.payload import CHECKSUM_MAGIC, HEAD, SIZE, Payload
from assay_conformance.wire.pulsar_pb2 import BaseCommand, MessageMetadata

_VARINT, _FIXED64, _LENGTH, _GROUP, _END_GROUP = range(5)


def reencode(frame: Frame, command: BaseCommand, metadata: MessageMetadata | None = None) -> bytes:
    """Return the frame with this command and, where given, this metadata in place of its own.

    A checksum that fitted is made to fit again; a wrong one stays wrong, and a missing one missing. Raises
    MetadataError when the metadata to be replaced cannot be found or decoded, LocalProtocolError for values that lack a
    required field and for metadata where the frame has none.
    """
    _, command_size = SIZES.unpack_from(frame.raw)
    end = SIZES.size + command_size
    head = _in_hand_of(frame.raw[SIZES.size : end], serialize(command), BaseCommand)
    tail = frame.raw[end:]
    if metadata is not None:
        if frame.payload is None:
            raise LocalProtocolError(f"{name_of(frame.type)}: has no metadata to replace")
        entry = tail[: len(tail) - len(frame.payload.block)]
        tail = entry + _block(frame.payload, metadata)
    return SIZES.pack(SIZE.size + len(head) + len(tail), len(head)) + head + tail


def _block(payload: Payload, metadata: MessageMetadata) -> bytes:
    payload.metadata  # noqa: B018 - raises when it cannot be decoded
    head = _in_hand_of(payload.metadata_bytes, serialize(metadata), MessageMetadata)
    covered = b"".join((SIZE.pack(len(head)), head, payload.data))
    if payload.checksum is None:
        return covered
    checksum = crc32c.crc32c(covered) if payload.checksum_ok() else payload.checksum
    return HEAD.pack(CHECKSUM_MAGIC, checksum) + covered


def _in_hand_of(original: bytes, wanted: bytes, kind: type[Message]) -> bytes:
    """Return the bytes of `wanted` in the encoding of `original`.

    Both are messages of this kind, `wanted` in the runtime's form.
    """
    before, after, parts = _by_number(_own_form(original, kind)), _by_number(wanted), _by_number(original)
    said = {
        number: iter(found if before[number] == after[number] else _replaced(found, after[number], kind))
        for number, found in parts.items()
    }
    new = [part for number, part in _fields(wanted) if number not in said]
    return b"".join([*(next(said[number]) for number, _ in _fields(original)), *new])


def _replaced(parts: list[bytes], wanted: list[bytes], kind: type[Message]) -> list[bytes]:
    """Return what to write in place of each occurrence of one field, so that together they say what is wanted."""
    pairs = zip(parts, wanted, strict=False)
    said = [part if _own_form(part, kind) == value else _changed(part, value, kind) for part, value in pairs]
    said += [b""] * (len(parts) - len(said))
    said[-1] += b"".join(wanted[len(parts) :])
    return said


def _changed(part: bytes, wanted: bytes, kind: type[Message]) -> bytes:
    """Return one field with another value; in a message, only what differs is changed."""
    tag, start = _varint(part, 0)
    wanted_tag, wanted_start = _varint(wanted, 0)
    field: Any = kind.DESCRIPTOR.fields_by_number.get(tag >> 3)
    if field is None or field.message_type is None or (tag & 7, wanted_tag & 7) != (_LENGTH, _LENGTH):
        return wanted
    body, wanted_body = (data[_varint(data, at)[1] :] for data, at in ((part, start), (wanted, wanted_start)))
    inner = _in_hand_of(body, wanted_body, GetMessageClass(field.message_type))
    return part[:start] + _varint_bytes(len(inner)) + inner


def _own_form(message: bytes, kind: type[Message]) -> bytes:
    """Return the message as the runtime writes it, whether or not it has its required fields."""
    return kind.FromString(message).SerializePartialToString()


def _by_number(message: bytes) -> defaultdict[int, list[bytes]]:
    found = defaultdict[int, list[bytes]](list)
    for number, part in _fields(message):
        found[number].append(part)
    return found


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of each field, tag included. The message was parsed before, so every field is complete."""
    start = 0
    while start < len(message):
        end = _end_of_field(message, start)
        yield _varint(message, start)[0] >> 3, message[start:end]
        start = end


def _end_of_field(message: bytes, start: int) -> int:
    tag, start = _varint(message, start)
    kind = tag & 7
    if kind == _VARINT:
        return _varint(message, start)[1]
    if kind == _LENGTH:
        size, start = _varint(message, start)
        return start + size
    if kind == _GROUP:
        while _varint(message, start)[0] & 7 != _END_GROUP:
            start = _end_of_field(message, start)
        return _varint(message, start)[1]
    return start + (8 if kind == _FIXED64 else 4)


def _varint(message: bytes, start: int) -> tuple[int, int]:
    """Return the number that begins at `start`, and where it ends."""
    value = shift = 0
    while message[start] > 127:
        value |= (message[start] & 127) << shift
        shift += 7
        start += 1
    return value | message[start] << shift, start + 1


def _varint_bytes(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes((*out, value))
