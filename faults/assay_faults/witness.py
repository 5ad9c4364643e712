"""What the history records of a frame: one table from the protocol's fields to those of the event.

A field that the event has no place of its own for goes to `fields` under the protocol's name, as plain values: enum
names, lists, and bytes in hexadecimal, so that a history read back from disk equals the one that was written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor

from assay_conformance.model.event import MessageId
from assay_conformance.wire import BODY_FIELDS, CommandType, Frame, MessageIdData
from assay_conformance.wire.describe import Describer
from assay_faults.fields import body_of, has_default

# Protocol field -> event field. The protocol's default stands in for one of these that the frame leaves out.
_HEADER: Final = {
    "producer_id": "producer_id",
    "consumer_id": "consumer_id",
    "request_id": "request_id",
    "sequence_id": "sequence_id",
    "highest_sequence_id": "highest_sequence_id",
    "num_messages": "num_messages",
    "messagePermits": "permits",
    "redelivery_count": "redelivery_count",
    "ack_type": "ack_type",
}
_IDS: Final = frozenset({"message_id", "message_ids", "last_message_id"})

Put = Callable[[dict[str, Any], Any], None]


def header(frame: Frame, describer: Describer, stream: Hashable = None) -> dict[str, Any]:
    """Return the fields of the frame's event except for connection, direction, number, sides and fate.

    `stream` is that of the chunk inside, if there is one.
    """
    kind = frame.type
    defaults = _DEFAULTS.get(kind)
    if defaults is None:
        return {"command": kind.name if isinstance(kind, CommandType) else str(kind), "size": len(frame.raw)}
    fields = defaults.copy()
    fields["size"] = len(frame.raw)
    for descriptor, value in frame.body.ListFields():
        _PUT[descriptor](fields, value)
    payload = frame.payload
    if payload is not None:
        description = describer.describe(payload, stream)
        fields["unit"] = description.unit
        fields["intact"] = description.intact
        fields["meta"] = description.meta
        fields["members"] = description.members
        if payload.checksum is None:
            fields.setdefault("fields", {})["checksum"] = False
    return fields


def _defaults(kind: CommandType) -> dict[str, Any]:
    body = body_of(kind)
    steps = () if body is None else body.fields
    return {"command": kind.name} | {
        _HEADER[step.name]: step.default_value for step in steps if step.name in _HEADER and has_default(step)
    }


def _put(step: FieldDescriptor) -> Put:
    """Return a function that puts a field's value into the event."""
    name = step.name
    if name in _IDS:
        return _put_ids if step.is_repeated else lambda fields, value: _put_ids(fields, (value,))
    if name == "ack_set":
        return lambda fields, value: fields.update(ack_sets=(tuple(value),))
    if name in _HEADER and step.enum_type is None:
        place = _HEADER[name]
        return lambda fields, value: fields.__setitem__(place, value)
    if name in _HEADER:
        return lambda fields, value: fields.__setitem__(_HEADER[name], _plain(step, value))
    return lambda fields, value: fields.setdefault("fields", {}).__setitem__(name, _plain(step, value))


def _put_ids(fields: dict[str, Any], ids: Iterable[MessageIdData]) -> None:
    fields["ids"] = tuple(MessageId(id.ledgerId, id.entryId, id.partition, id.batch_index, id.batch_size) for id in ids)
    if any(id.ack_set for id in ids):
        fields["ack_sets"] = tuple(tuple(id.ack_set) for id in ids)
    if any(id.HasField("first_chunk_message_id") for id in ids):
        fields.setdefault("fields", {})["first_chunk_message_id"] = [_first_chunk(id) for id in ids]


def _first_chunk(id: MessageIdData) -> list[int] | None:
    first = id.first_chunk_message_id
    return [first.ledgerId, first.entryId] if id.HasField("first_chunk_message_id") else None


def _plain(step: FieldDescriptor, value: Any) -> Any:
    """Return a protocol value as JSON represents it."""
    if step.is_repeated:
        return [_scalar(step, item) for item in value]
    return _scalar(step, value)


def _scalar(step: FieldDescriptor, value: Any) -> Any:
    if step.message_type is not None:
        return {inner.name: _plain(inner, item) for inner, item in value.ListFields()}
    if step.enum_type is not None:
        return step.enum_type.values_by_number[value].name
    return value.hex() if isinstance(value, bytes) else value


_KINDS: Final = tuple(map(CommandType, BODY_FIELDS))
_DEFAULTS: Final[dict[int, dict[str, Any]]] = {int(kind): _defaults(kind) for kind in _KINDS}
_PUT: Final[dict[FieldDescriptor, Put]] = {
    step: _put(step) for kind in _KINDS if (body := body_of(kind)) is not None for step in body.fields
}
