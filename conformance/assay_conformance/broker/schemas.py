"""The schemas of topics: their versions, and which new one may follow.

A schema that is there already keeps its version, whichever that is; another has to be compatible with the last one, or,
where the rule is transitive, with all. Consumers add one only to an unused topic; else theirs has to be
able to read what is there. Source: Pulsar's schema registry (SchemaRegistryServiceImpl) and documentation
(schema-understand, compatibility strategies).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from assay_conformance.broker import avro
from assay_conformance.broker.rules import RefusalError
from assay_conformance.model.policy import SchemaCompatibility
from assay_conformance.wire.pulsar_pb2 import Schema, ServerError

_AVRO_TYPES = frozenset({Schema.Json, Schema.Avro, Schema.Protobuf})
"""Types whose data is an Avro schema."""
_CLIENT_TYPES = frozenset({Schema.AutoConsume})
"""Types that only a client knows: no topic has one."""
_BACKWARD = frozenset(
    {
        SchemaCompatibility.BACKWARD,
        SchemaCompatibility.BACKWARD_TRANSITIVE,
        SchemaCompatibility.FULL,
        SchemaCompatibility.FULL_TRANSITIVE,
    }
)
_FORWARD = frozenset(
    {
        SchemaCompatibility.FORWARD,
        SchemaCompatibility.FORWARD_TRANSITIVE,
        SchemaCompatibility.FULL,
        SchemaCompatibility.FULL_TRANSITIVE,
    }
)
_TRANSITIVE = frozenset(
    {
        SchemaCompatibility.BACKWARD_TRANSITIVE,
        SchemaCompatibility.FORWARD_TRANSITIVE,
        SchemaCompatibility.FULL_TRANSITIVE,
    }
)
_READS_LATEST = frozenset(
    {
        SchemaCompatibility.BACKWARD,
        SchemaCompatibility.FORWARD,
        SchemaCompatibility.FORWARD_TRANSITIVE,
        SchemaCompatibility.FULL,
    }
)
"""Under these a consumer has to read the latest version; under others its schema counts as a new one among all."""


class Version(NamedTuple):
    """One schema of a topic, and when it was added."""

    number: int
    schema: Schema
    added_ms: int = 0

    @property
    def bytes(self) -> bytes:
        """How the protocol names it."""
        return self.number.to_bytes(8, "big")


class Schemas:
    """Every topic's. A topic is named by its full name; partitions share those of their topic."""

    def __init__(self, unix_ms: Callable[[], int] = lambda: 0) -> None:
        self._unix_ms = unix_ms
        self._versions: dict[str, list[Version]] = {}
        self._next: dict[str, int] = {}

    def versions(self, topic: str) -> list[Version]:
        """Return the versions since the last deletion."""
        return self._versions.get(topic, [])

    def latest(self, topic: str) -> Version | None:
        versions = self.versions(topic)
        return versions[-1] if versions else None

    def find(self, topic: str, version: bytes) -> Version | None:
        """Return the version with these bytes."""
        return next((known for known in self.versions(topic) if known.bytes == version), None)

    def add(self, topic: str, schema: Schema, rule: SchemaCompatibility, *, may_add: bool = True) -> Version:
        """Return the version of a schema, a new one if it is unknown. Raises RefusalError (IncompatibleSchema)."""
        known = self.known(topic, schema)
        if known is not None:
            return known
        if not may_add:
            raise _incompatible("Schema not found and schema auto updating is disabled.")
        self.check(topic, schema, rule)
        number = self._next.get(topic, 0)
        self._next[topic] = number + 1
        made = Version(number, schema, self._unix_ms())
        self._versions[topic] = [*self.versions(topic), made]
        return made

    def known(self, topic: str, schema: Schema) -> Version | None:
        """Return the version of a schema that is known, or None. Raises RefusalError for one that is not valid."""
        _check_valid(schema)
        return next((known for known in self.versions(topic) if _same(known.schema, schema)), None)

    def check(self, topic: str, schema: Schema, rule: SchemaCompatibility) -> None:
        """Raise RefusalError for a schema that may not follow those that the topic has."""
        _check_valid(schema)
        versions = self.versions(topic)
        for known in versions if rule in _TRANSITIVE else versions[-1:]:
            _check(known.schema, schema, rule)

    def check_reader(self, topic: str, schema: Schema, rule: SchemaCompatibility) -> None:
        """Raise RefusalError where a consumer with this schema may not read a topic that has one."""
        if rule is SchemaCompatibility.ALWAYS_COMPATIBLE:
            return
        _check_valid(schema)
        versions = self.versions(topic)
        if not versions:
            raise _incompatible("Topic does not have schema to check")
        reads_latest = rule in _READS_LATEST
        for known in versions[-1:] if reads_latest else versions:
            _check(known.schema, schema, SchemaCompatibility.BACKWARD if reads_latest else rule)

    def delete(self, topic: str) -> int:
        """Forget them; the deletion has a version of its own, whose number this is, and the next schema the next."""
        self._versions.pop(topic, None)
        number = self._next.get(topic, 0)
        self._next[topic] = number + 1
        return number

    def forget(self, topic: str) -> None:
        """Forget the schemas of a topic, as if it had none."""
        self._versions.pop(topic, None)
        self._next.pop(topic, None)


def _check(existing: Schema, new: Schema, rule: SchemaCompatibility) -> None:
    if rule is SchemaCompatibility.ALWAYS_COMPATIBLE or (existing.type == new.type and _same(existing, new)):
        return
    names = Schema.Type.Name(existing.type), Schema.Type.Name(new.type)
    if existing.type != new.type:
        raise _incompatible(f"Incompatible schema: exists schema type {names[0]}, new schema type {names[1]}")
    if rule is SchemaCompatibility.ALWAYS_INCOMPATIBLE:
        raise _incompatible("The strategy ALWAYS_INCOMPATIBLE takes no other schema")
    if existing.type == Schema.KeyValueSchema:
        parts = zip(_parts(existing), _parts(new), strict=True)
        for old, young in parts:
            _check(old, young, rule)
    elif existing.type in _AVRO_TYPES:
        old_data, new_data = avro.parse(existing.schema_data), avro.parse(new.schema_data)
        readings = (_BACKWARD, new_data, old_data), (_FORWARD, old_data, new_data)
        if not all(rule not in rules or avro.can_read(reader, writer) for rules, reader, writer in readings):
            raise _incompatible(f"Error during schema compatibility check with strategy {rule.name}")


def is_valid(schema: Schema) -> bool:
    try:
        _check_valid(schema)
    except RefusalError:
        return False
    return True


def _check_valid(schema: Schema) -> None:
    if schema.type in _CLIENT_TYPES:
        raise _incompatible(f"Schema {Schema.Type.Name(schema.type)} is a client-side schema type")
    for part in _parts(schema) if schema.type == Schema.KeyValueSchema else ():
        _check_valid(part)
    try:
        if schema.type in _AVRO_TYPES:
            avro.parse(schema.schema_data)
    except avro.AvroError as error:
        text = f"Invalid schema definition data for {Schema.Type.Name(schema.type)} schema: {error}"
        raise _incompatible(text) from error


def _same(one: Schema, other: Schema) -> bool:
    if one.type != other.type:
        return False
    if one.type in _AVRO_TYPES:
        return avro.canonical(one.schema_data) == avro.canonical(other.schema_data)
    return one.schema_data == other.schema_data


def _parts(schema: Schema) -> tuple[Schema, Schema]:
    """Return key and value of a key-value schema.

    Each is its length in four bytes and its data; their types are properties.
    """
    types = {pair.key: pair.value for pair in schema.properties}
    data, at, parts = schema.schema_data, 0, []
    for name in ("key", "value"):
        size = int.from_bytes(data[at : at + 4], "big")
        kind = _TYPE_NAMES.get(types.get(f"{name}.schema.type", ""), "NoSchema")
        parts.append(Schema(name=name, type=kind, schema_data=data[at + 4 : at + 4 + size]))
        at += 4 + size
    return parts[0], parts[1]


_TYPE_NAMES = {name.upper(): name for name in Schema.Type.keys()}  # noqa: SIM118 - an enum, not a dict


def _incompatible(text: str) -> RefusalError:
    return RefusalError(ServerError.IncompatibleSchema, text)
