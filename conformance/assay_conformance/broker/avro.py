"""Whether data written with one Avro schema can be read with another: the resolution rules of the Avro specification,
as far as Pulsar's compatibility check asks.

That check is stricter and laxer than the specification in two places, and so is this: the names of records are not
compared, and an enum may lack symbols (Avro's Java library finds those only when it reads).
"""

from __future__ import annotations

import json
from typing import Any

_PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_PROMOTIONS: dict[str, frozenset[str]] = {
    "int": frozenset({"long", "float", "double"}),
    "long": frozenset({"float", "double"}),
    "float": frozenset({"double"}),
    "string": frozenset({"bytes"}),
    "bytes": frozenset({"string"}),
}
"""What a written type may be read as beside itself."""
_UNDOCUMENTED = frozenset({"doc"})


class AvroError(ValueError):
    """Not an Avro schema, in a sentence."""


class AvroSchema:
    """One parsed schema. `kind` is a primitive's name, or record, enum, fixed, array, map, union."""

    __slots__ = ("branches", "fields", "kind", "name", "size")

    def __init__(self, kind: str, name: str = "") -> None:
        self.kind = kind
        self.name = name
        self.size = 0
        self.branches: list[AvroSchema] = []
        self.fields: dict[str, Field] = {}


class Field:
    """A record's field; `aliases` are other names it is read under."""

    __slots__ = ("aliases", "has_default", "schema")

    def __init__(self, schema: AvroSchema, aliases: list[str], has_default: bool) -> None:
        self.schema = schema
        self.aliases = aliases
        self.has_default = has_default


def parse(text: bytes) -> AvroSchema:
    """Return the schema in an Avro text. Raises AvroError."""
    try:
        return _parse(_load(text), "", {})
    except RecursionError as error:
        raise AvroError("nested too deeply") from error


def canonical(text: bytes) -> object:
    """Return a value that is equal for schemas with the same meaning. Raises AvroError."""
    parse(text)
    try:
        return _undocumented(_load(text))
    except RecursionError as error:
        raise AvroError("nested too deeply") from error


def _load(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise AvroError(f"not JSON: {error}") from error


def _undocumented(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _undocumented(inner) for key, inner in value.items() if key not in _UNDOCUMENTED}
    return [_undocumented(inner) for inner in value] if isinstance(value, list) else value


def _parse(value: Any, namespace: str, known: dict[str, AvroSchema]) -> AvroSchema:
    if isinstance(value, list):
        union = AvroSchema("union")
        union.branches = [_parse(branch, namespace, known) for branch in value]
        return union
    if isinstance(value, str):
        return _named(value, namespace, known)
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, dict | list):
        return _parse(kind, namespace, known)
    if kind in ("array", "map"):
        schema = AvroSchema(kind)
        schema.branches = [_parse(value.get("items" if kind == "array" else "values"), namespace, known)]
        return schema
    if kind in ("record", "error", "enum", "fixed"):
        return _define(value, namespace, known)
    if isinstance(kind, str):
        return _named(kind, namespace, known)
    raise AvroError(f"no schema: {value!r}")


def _named(name: str, namespace: str, known: dict[str, AvroSchema]) -> AvroSchema:
    if name in _PRIMITIVES:
        return AvroSchema(name)
    found = known.get(_full(name, namespace)) or known.get(name)
    if found is None:
        raise AvroError(f"undefined name: {name!r}")
    return found


def _define(value: dict[str, Any], namespace: str, known: dict[str, AvroSchema]) -> AvroSchema:
    kind, name = value["type"], value.get("name")
    if not isinstance(name, str) or not name:
        raise AvroError(f"{kind} without a name")
    full = _full(name, value.get("namespace", namespace))
    schema = known[full] = AvroSchema("record" if kind == "error" else kind, full)
    inner = full.rpartition(".")[0]
    if kind == "fixed":
        schema.size = value.get("size", 0)
    elif kind != "enum":
        fields = value.get("fields")
        if not isinstance(fields, list) or not all(isinstance(field, dict) and "name" in field for field in fields):
            raise AvroError(f"record {full} without fields")
        for field in fields:
            schema.fields[field["name"]] = Field(
                _parse(field.get("type"), inner, known), _names(field.get("aliases")), "default" in field
            )
    return schema


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


# --- resolution -------------------------------------------------------------------------------------------------------


def can_read(reader: AvroSchema, writer: AvroSchema) -> bool:
    """Return whether all that is written with one schema can be read with the other; False if nested too deeply."""
    try:
        return _reads(reader, writer, set())
    except RecursionError:
        return False


def _reads(reader: AvroSchema, writer: AvroSchema, asked: set[tuple[int, int]]) -> bool:
    pair = id(reader), id(writer)
    if pair in asked:
        # A type inside itself: what remains decides.
        return True
    asked = asked | {pair}
    if writer.kind == "union":
        return all(_reads(reader, branch, asked) for branch in writer.branches)
    if reader.kind == "union":
        return any(_reads(branch, writer, asked) for branch in reader.branches)
    if reader.kind != writer.kind:
        return reader.kind in _PROMOTIONS.get(writer.kind, frozenset())
    if reader.kind in ("array", "map"):
        return _reads(reader.branches[0], writer.branches[0], asked)
    if reader.kind == "record":
        return all(_reads_field(name, field, writer, asked) for name, field in reader.fields.items())
    return (reader.name, reader.size) == (writer.name, writer.size)


def _reads_field(name: str, field: Field, writer: AvroSchema, asked: set[tuple[int, int]]) -> bool:
    written = next((writer.fields[known] for known in (name, *field.aliases) if known in writer.fields), None)
    return field.has_default if written is None else _reads(field.schema, written.schema, asked)
