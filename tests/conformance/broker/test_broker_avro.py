"""Avro's rules of schema resolution, one line a rule."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assay_conformance.broker import avro


def _record(*fields: Any, name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": f, "type": t, **more} for f, t, more in fields]}


NONE: dict[str, Any] = {}
X_INT = _record(("x", "int", NONE))
X_LONG = _record(("x", "long", NONE))
X_OPTIONAL = _record(("x", ["null", "int"], NONE))
X_Y = _record(("x", "int", NONE), ("y", "int", NONE))
X_Y_DEFAULT = _record(("x", "int", NONE), ("y", "int", {"default": 0}))
RENAMED = _record(("z", "int", {"aliases": ["x"]}))
TREE = _record(("value", "int", NONE), ("next", ["null", "R"], NONE))
LONG_TREE = _record(("value", "long", NONE), ("next", ["null", "R"], NONE))


def _enum(name: str, *symbols: str) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols)}


def _fixed(name: str, size: int) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size}


@pytest.mark.parametrize(
    ("reader", "writer", "reads"),
    [
        ("int", "int", True),
        ("long", "int", True),
        ("int", "long", False),
        ("double", "float", True),
        ("string", "bytes", True),
        ("string", "int", False),
        ("boolean", "int", False),
        (X_INT, X_INT, True),
        (X_LONG, X_INT, True),
        (X_INT, X_LONG, False),
        (X_INT, X_Y, True),
        (X_Y, X_INT, False),
        (X_Y_DEFAULT, X_INT, True),
        (X_OPTIONAL, X_INT, True),
        (X_INT, X_OPTIONAL, False),
        (RENAMED, X_INT, True),
        (_record(("x", "int", NONE), name="Other"), X_INT, True),
        (["null", "string"], ["string", "null"], True),
        (["null", "string"], ["null", "int"], False),
        (["null", "long"], "int", True),
        ({"type": "array", "items": "long"}, {"type": "array", "items": "int"}, True),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "string"}, False),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "int"}, True),
        ({"type": "map", "values": "int"}, {"type": "array", "items": "int"}, False),
        (_enum("E", "A", "B"), _enum("E", "A"), True),
        (_enum("E", "A"), _enum("E", "A", "B"), True),
        (_enum("E", "A"), _enum("F", "A"), False),
        (_fixed("F", 4), _fixed("F", 4), True),
        (_fixed("F", 4), _fixed("F", 8), False),
        (TREE, TREE, True),
        (LONG_TREE, TREE, True),
        (TREE, LONG_TREE, False),
        ({"type": "int", "logicalType": "date"}, "int", True),
    ],
)
def test_what_reads_what(reader: Any, writer: Any, reads: bool) -> None:
    assert avro.can_read(*(avro.parse(json.dumps(schema).encode()) for schema in (reader, writer))) is reads


def test_chain_of_records_too_long_to_follow_is_not_readable() -> None:
    links: list[Any] = [{"type": "record", "name": "R0", "fields": []}]
    links += [_record(("next", f"R{number}", NONE), name=f"R{number + 1}") for number in range(3_000)]
    chain = avro.parse(json.dumps(links).encode())
    assert not avro.can_read(chain.branches[-1], chain.branches[-1])


def test_names_are_found_in_their_namespace() -> None:
    inner = {"type": "record", "name": "In", "fields": []}
    outer = {"type": "record", "name": "a.b.Out", "fields": [{"name": "i", "type": inner}, {"name": "j", "type": "In"}]}
    assert avro.parse(json.dumps(outer).encode()).fields["j"].schema.name == "a.b.In"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff",
        b"7",
        b'"Unknown"',
        b'{"type": "record"}',
        b'{"type": "record", "name": "R"}',
        b'{"type": "record", "name": "R", "fields": [1]}',
        b'{"type": "array"}',
        b"[" * 100_000,
        b'{"type":' * 3_000 + b'"int"' + b"}" * 3_000,
    ],
)
def test_what_is_no_schema_is_refused(text: bytes) -> None:
    with pytest.raises(avro.AvroError):
        avro.parse(text)


def test_documentation_makes_no_difference() -> None:
    plain, told = dict(X_INT), {**X_INT, "doc": "an x"}
    assert avro.canonical(json.dumps(plain).encode()) == avro.canonical(json.dumps(told, indent=1).encode())
