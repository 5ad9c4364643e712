"""Fields of a frame by dotted name, as faults write them: `sequence_id`, `message_id.entryId`, `metadata.chunk_id`.

A name is resolved once, against the command it is meant for, so that a misspelt one is refused before a Case runs. In a
repeated field a name stands for every element. A field that is not in the frame has a value only where the protocol
declares a default: `num_messages` is 1 then, `chunk_id` is nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from assay_conformance.model.errors import UsageError
from assay_conformance.model.fault import FieldValue
from assay_conformance.wire import BODY_FIELDS, PAYLOAD_TYPES, BaseCommand, CommandType, Frame, MessageMetadata

METADATA: Final = "metadata."

# Fields that the protocol declares to be 0 or false where they are absent. A declaration of other values can be read
# from the descriptors; one of zero cannot, as our .proto leaves it out.
_ZERO_WHEN_ABSENT: Final = frozenset(
    {
        "authoritative",
        "compacted_out",
        "encrypted",
        "epoch",
        "event_time",
        "filtered",
        "force",
        "highest_sequence_id",
        "is_active",
        "is_chunk",
        "marker",
        "null_partition_key",
        "null_value",
        "partition_key_b64_encoded",
        "protocol_version",
        "proxy_through_service_url",
        "redelivery_count",
        "start_message_rollback_duration_sec",
        "txn_enabled",
        "uncompressed_size",
    }
)

_Convert = Callable[[FieldDescriptor, FieldValue], Any]


@dataclass(frozen=True, slots=True)
class Field:
    """Where a value stands: the way from the command's message, or from the metadata, down to it."""

    name: str
    in_metadata: bool
    way: tuple[FieldDescriptor, ...]

    def values(self, frame: Frame) -> list[Any]:
        """Return the field's value in this frame, or all values of a repeated field.

        Raise MetadataError when the metadata cannot be read.
        """
        found: list[Any] = []
        _collect(self.root(frame), self.way, found)
        return found

    def root(self, frame: Frame) -> Any:
        """Return the message in which the path to the field begins: the metadata or the command's body.

        Raise MetadataError when the metadata cannot be read.
        """
        return frame.payload.metadata if self.in_metadata and frame.payload is not None else frame.body

    def convert(self, value: FieldValue) -> Any:
        """Return a fault's value as this field holds it: enum names become numbers, -1 an unsigned number's highest.

        Raise UsageError for a value of another type.
        """
        last = self.way[-1]
        converted = _CONVERT[last.cpp_type](last, value) if last.cpp_type in _CONVERT else None
        if converted is None:
            raise UsageError(f"field {self.name}: expected {_EXPECTED[last.cpp_type]}, got {value!r}")
        return converted

    @property
    def near(self) -> str | None:
        """Its name, if it is a single field right in the command's message."""
        step = self.way[0]
        return step.name if len(self.way) == 1 and not self.in_metadata and not step.is_repeated else None

    @property
    def family(self) -> str:
        """What its values can be copied to: the message's name, or a word for the numbers, texts and so on."""
        last = self.way[-1]
        return _FAMILIES[last.cpp_type] if last.message_type is None else str(last.message_type.full_name)

    def fit(self, value: Any) -> Any:
        """Return the value of a field of the same family as this field holds it."""
        return value if isinstance(value, Message | bytes) else self.convert(value)

    def zero(self) -> Any:
        """Return some value that this field accepts, or None for a message."""
        last = self.way[-1]
        return None if last.message_type is not None else last.default_value if not last.is_repeated else 0

    def assign(self, root: Any, value: Any) -> None:
        """Set a converted value, making what the way needs; in every element of a repeated field, or in a first one."""
        messages = [root]
        for step in self.way[:-1]:
            messages = [inner for message in messages for inner in _inner(message, step)]
        last = self.way[-1]
        for message in messages:
            if last.is_repeated:
                elements = getattr(message, last.name)
                del elements[:]
                elements.append(value)
            elif isinstance(value, Message):
                getattr(message, last.name).CopyFrom(value)
            else:
                setattr(message, last.name, value)


def command_type(name: str) -> CommandType:
    """Return the command of this name.

    Raise UsageError for a command that the protocol does not have, or whose content is not known here.
    """
    kind = CommandType.__members__.get(name)
    if kind is None or kind not in BODY_FIELDS:
        raise UsageError(f"command {name!r}: expected one of {', '.join(CommandType(n).name for n in BODY_FIELDS)}")
    return kind


def resolve(kind: CommandType, name: str) -> Field:
    """Return the field of this name in frames of this command. Raise UsageError where there is none."""
    in_metadata = name.startswith(METADATA) and kind in PAYLOAD_TYPES
    message = MessageMetadata.DESCRIPTOR if in_metadata else body_of(kind)
    way: list[Any] = []
    for part in name.removeprefix(METADATA).split(".") if in_metadata else name.split("."):
        step = None if message is None else message.fields_by_name.get(part)
        if step is None:
            known = "nothing" if message is None else ", ".join(message.fields_by_name)
            raise UsageError(f"field {name} of {kind.name}: no {part!r}; expected one of: {known}")
        way.append(step)
        message = step.message_type
    return Field(name, in_metadata, tuple(way))


def body_of(kind: CommandType) -> Any:
    """Return the descriptor of the command's own message."""
    return BaseCommand.DESCRIPTOR.fields_by_name[BODY_FIELDS[kind]].message_type


def has_default(step: Any) -> bool:
    """Return whether the protocol declares what the field means when it is absent."""
    return bool(step.has_default_value) or step.name in _ZERO_WHEN_ABSENT


def _collect(message: Any, way: tuple[FieldDescriptor, ...], found: list[Any]) -> None:
    step, rest = way[0], way[1:]
    if not step.is_repeated and not message.HasField(step.name) and not has_default(step):
        return
    value = getattr(message, step.name)
    for item in value if step.is_repeated else (value,):
        if rest:
            _collect(item, rest, found)
        else:
            found.append(item)


def _inner(message: Any, step: FieldDescriptor) -> list[Any]:
    inner = getattr(message, step.name)
    if not step.is_repeated:
        return [inner]
    if not inner:
        inner.add()
    return list(inner)


def _enum(step: FieldDescriptor, value: FieldValue) -> int | None:
    names = step.enum_type.values_by_name if step.enum_type is not None else {}
    if isinstance(value, str):
        return names[value].number if value in names else None
    return int(value)


def _unsigned(bits: int) -> _Convert:
    return lambda _, value: value % 2**bits if isinstance(value, int) else None


def _signed(bits: int) -> _Convert:
    limit = 2 ** (bits - 1)
    return lambda _, value: value if isinstance(value, int) and -limit <= value < limit else None


def _text(step: FieldDescriptor, value: FieldValue) -> str | bytes | None:
    if not isinstance(value, str):
        return None
    return value.encode() if step.type == FieldDescriptor.TYPE_BYTES else value


def _bool(_: FieldDescriptor, value: FieldValue) -> bool | None:
    return value if isinstance(value, bool) else None


_CONVERT: Final[Mapping[int, _Convert]] = {
    FieldDescriptor.CPPTYPE_INT32: _signed(32),
    FieldDescriptor.CPPTYPE_INT64: _signed(64),
    FieldDescriptor.CPPTYPE_UINT32: _unsigned(32),
    FieldDescriptor.CPPTYPE_UINT64: _unsigned(64),
    FieldDescriptor.CPPTYPE_DOUBLE: _signed(53),
    FieldDescriptor.CPPTYPE_BOOL: _bool,
    FieldDescriptor.CPPTYPE_ENUM: _enum,
    FieldDescriptor.CPPTYPE_STRING: _text,
}
_FAMILIES: Final[Mapping[int, str]] = {
    FieldDescriptor.CPPTYPE_INT32: "a number",
    FieldDescriptor.CPPTYPE_INT64: "a number",
    FieldDescriptor.CPPTYPE_UINT32: "a number",
    FieldDescriptor.CPPTYPE_UINT64: "a number",
    FieldDescriptor.CPPTYPE_DOUBLE: "a fraction",
    FieldDescriptor.CPPTYPE_BOOL: "a truth value",
    FieldDescriptor.CPPTYPE_ENUM: "a number",
    FieldDescriptor.CPPTYPE_STRING: "a text",
}
_EXPECTED: Final[Mapping[int, str]] = {
    FieldDescriptor.CPPTYPE_INT32: "a whole number",
    FieldDescriptor.CPPTYPE_INT64: "a whole number",
    FieldDescriptor.CPPTYPE_UINT32: "a whole number",
    FieldDescriptor.CPPTYPE_UINT64: "a whole number",
    FieldDescriptor.CPPTYPE_DOUBLE: "a whole number",
    FieldDescriptor.CPPTYPE_BOOL: "true or false",
    FieldDescriptor.CPPTYPE_ENUM: "one of the names of its enum",
    FieldDescriptor.CPPTYPE_STRING: "a text",
    FieldDescriptor.CPPTYPE_MESSAGE: "the name of a field inside it",
}
