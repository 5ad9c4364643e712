"""Commands of any type, their required fields filled in."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from tests.conformance.broker.bench import Bench, T

from assay_conformance.wire import (
    BODY_FIELDS,
    NO_ID,
    PAYLOAD_TYPES,
    BaseCommand,
    CommandType,
    MessageMetadata,
    decode,
    encode_around,
    encode_block,
)

BLOCK = encode_block(MessageMetadata(producer_name="p", sequence_id=0, publish_time=0), b"x")
NUMBERS = [0, 1, 2, NO_ID]
TEXTS = [T, "t", "s", "p", "", "bad://x", "persistent://no/where/t"]
Pick = Any
"""Gives a value of a field from the choices there are."""


def filled(kind: CommandType, pick: Pick, *, everything: bool) -> BaseCommand:
    """A command with its required fields, or with a choice of all of them."""
    built = BaseCommand(type=kind)
    if kind in BODY_FIELDS:
        body = getattr(built, BODY_FIELDS[kind])
        body.SetInParent()
        _fill(body, pick, everything=everything)
    return built


def _fill(message: Any, pick: Pick, *, everything: bool) -> None:
    for field in message.DESCRIPTOR.fields:
        if not field.is_required and not (everything and pick([True, False])):
            continue
        if field.is_repeated:
            if field.message_type is None:
                getattr(message, field.name).append(_value(field, pick))
            else:
                _fill(getattr(message, field.name).add(), pick, everything=False)
        elif field.message_type is not None:
            getattr(message, field.name).SetInParent()
            _fill(getattr(message, field.name), pick, everything=False)
        else:
            setattr(message, field.name, _value(field, pick))


def _value(field: FieldDescriptor, pick: Pick) -> Any:
    if field.enum_type is not None:
        return pick([value.number for value in field.enum_type.values])
    if field.type == FieldDescriptor.TYPE_STRING:
        return pick(TEXTS)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return b""
    if field.type == FieldDescriptor.TYPE_BOOL:
        return pick([True, False])
    number = pick(NUMBERS)
    return number if field.type in (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_DOUBLE) else number & 0xFF


def first(choices: list[Any]) -> Any:
    return choices[0]


def put(bench: Bench, command: BaseCommand, conn: int = 0) -> None:
    block = BLOCK if command.type in PAYLOAD_TYPES else None
    bench.cluster.received(conn, decode(encode_around(command, block)), bench.now_ns)
