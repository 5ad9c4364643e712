"""Hostile values, and where they are put: in trees of JSON, in lines of TOML, in bytes, in the place of whole files.

A mutation takes a random generator and returns the new bytes and a few words that name its kind. Trees keep their
structure: one place of a valid document changes, so that what is behind the first check is reached.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

Json = Any
"""What json.loads returns."""

_HOLE: Final = "\u2020hole\u2020"
_DEEP, _VERY_DEEP = 2_000, 100_000

SCALARS: Final[dict[str, bytes]] = {
    "minus one": b"-1",
    "zero": b"0",
    "2^31": b"2147483648",
    "2^63": b"9223372036854775808",
    "-2^63 - 1": b"-9223372036854775809",
    "2^64": b"18446744073709551616",
    "10^18": b"1000000000000000000",
    "10^30": b"1" + b"0" * 30,
    "an integer of 5,000 digits": b"9" * 5_000,
    "a fraction": b"1.5",
    "1e308": b"1e308",
    "1e999": b"1e999",
    "NaN": b"NaN",
    "Infinity": b"Infinity",
    "true": b"true",
    "null": b"null",
    "empty text": b'""',
    "a word": b'"soon"',
    "text of 300 kB": b'"' + b"x" * 300_000 + b'"',
    "terminal escapes": b'"\\u001b[2J\\u001b]0;owned\\u0007\\u009b31m"',
    "right-to-left text": b'"\\u202egnp.exe"',
    "a path to elsewhere": b'"../../neighbour/keep.txt"',
    "an absolute path": b'"/proc/self/mem"',
    "a lone surrogate": b'"\\ud800"',
    "a NUL": b'"a\\u0000b"',
    "invalid UTF-8": b'"\xff\xfe\xc3("',
    "a format": b'"{0.__class__} %s %n {"',
    "markup": b'"[red]<script>alert(1)</script>[/red]"',
    "an empty list": b"[]",
    "an empty object": b"{}",
    "a list of 20,000": b"[" + b"0," * 19_999 + b"0]",
    "2,000 lists in one another": b"[" * _DEEP + b"]" * _DEEP,
    "2,000 objects in one another": b'{"x":' * _DEEP + b"0" + b"}" * _DEEP,
    "100,000 lists in one another": b"[" * _VERY_DEEP + b"]" * _VERY_DEEP,
}

Mutation = Callable[[random.Random, bytes], tuple[bytes, str]]


def places(tree: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield every place of a tree, its root included."""
    yield path
    children: Iterator[tuple[str | int, Json]] = iter(())
    if isinstance(tree, dict):
        children = iter(tree.items())
    elif isinstance(tree, list):
        children = iter(enumerate(tree))
    for key, value in children:
        yield from places(value, (*path, key))


def _filled(tree: Json, raw: bytes) -> bytes:
    """Return the tree as text, with the hole filled by what no library would write."""
    return json.dumps(tree, separators=(",", ":")).encode().replace(json.dumps(_HOLE).encode(), raw)


def filled(tree: Json, path: tuple[str | int, ...], raw: bytes) -> bytes:
    """Return the document with raw bytes at one place."""
    return _filled(_with(tree, path, _HOLE), raw)


def _with(tree: Json, path: tuple[str | int, ...], value: Json) -> Json:
    if not path:
        return value
    above = tree
    for key in path[:-1]:
        above = above[key]
    above[path[-1]] = value
    return tree


def put_scalar(rng: random.Random, document: bytes) -> tuple[bytes, str]:
    """Replace one value of the document by a hostile one."""
    tree = json.loads(document)
    name = rng.choice(list(SCALARS))
    path = rng.choice(list(places(tree)))
    return filled(tree, path, SCALARS[name]), name


def remove_key(rng: random.Random, document: bytes) -> tuple[bytes, str]:
    tree = json.loads(document)
    path = rng.choice([one for one in places(tree) if one] or [()])
    if path:
        above = tree
        for key in path[:-1]:
            above = above[key]
        del above[path[-1]]
    return json.dumps(tree).encode(), "a key removed"


def add_key(rng: random.Random, document: bytes) -> tuple[bytes, str]:
    """Add an unknown key with a hostile value, which is parsed even where the key is refused or ignored."""
    tree = json.loads(document)
    name = rng.choice(list(SCALARS))
    objects = [path for path in places(tree) if isinstance(_at(tree, path), dict)]
    if objects:
        _at(tree, rng.choice(objects))["x-unknown"] = _HOLE
    return _filled(tree, SCALARS[name]), f"an unknown key with {name}"


def repeat_item(rng: random.Random, document: bytes) -> tuple[bytes, str]:
    """Repeat an item of one list many times."""
    tree = json.loads(document)
    lists = [path for path in places(tree) if isinstance(_at(tree, path), list) and _at(tree, path)]
    if lists:
        items = _at(tree, rng.choice(lists))
        items.extend([rng.choice(items)] * rng.choice((1, 100, 2_000)))
    return json.dumps(tree).encode(), "an item repeated"


def _at(tree: Json, path: tuple[str | int, ...]) -> Json:
    for key in path:
        tree = tree[key]
    return tree


# --- bytes, whatever they mean ----------------------------------------------------------------------------------------


def flip(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 16))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed), "bits flipped"


def cut(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    return data[: rng.randrange(len(data) + 1)], "cut short"


def splice(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    place = rng.randrange(len(data) + 1)
    name, piece = rng.choice(
        [
            ("NULs", b"\0" * 50),
            ("a byte order mark", b"\xef\xbb\xbf"),
            ("invalid UTF-8", b"\xff\xfe\xc3\x28"),
            ("UTF-16", "assay".encode("utf-16")),
            ("empty lines", b"\n\n\n"),
            ("noise", rng.randbytes(40)),
        ]
    )
    return data[:place] + piece + data[place:], f"{name} in the middle"


def double(_: random.Random, data: bytes) -> tuple[bytes, str]:
    return data + data, "twice"


BYTES: Final[tuple[Mutation, ...]] = (flip, cut, splice, double)
TREES: Final[tuple[Mutation, ...]] = (put_scalar, put_scalar, put_scalar, add_key, remove_key, repeat_item)


def document(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Damage one thing in a JSON document: mostly in its tree, sometimes in its bytes."""
    return rng.choice(TREES if rng.random() < 0.8 else BYTES)(rng, data)


def lines(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Damage one of several JSON lines, or their order."""
    if rng.random() < 0.1:
        return rng.choice(BYTES)(rng, data)
    records = data.splitlines(keepends=True)
    if rng.random() < 0.1 and len(records) > 1:
        place = rng.randrange(len(records))
        name, changed = rng.choice(
            [
                ("a line missing", records[:place] + records[place + 1 :]),
                ("a line twice", [*records[: place + 1], *records[place:]]),
                ("lines in another order", rng.sample(records, len(records))),
                ("an empty line", [*records[:place], b"\n", *records[place:]]),
            ]
        )
        return b"".join(changed), name
    place = rng.randrange(len(records))
    line, name = document(rng, records[place].rstrip(b"\n"))
    return b"".join([*records[:place], line + b"\n", *records[place + 1 :]]), f"{name}, in line {min(place + 1, 2)}.."


# --- TOML -------------------------------------------------------------------------------------------------------------

_KEY_VALUE: Final = re.compile(rb"^(\s*[\w.\"-]+\s*=\s*)(.+)$")
_TOML_VALUES: Final[dict[str, bytes]] = {
    **{name: raw for name, raw in SCALARS.items() if raw not in (b"null", b"NaN", b"Infinity", b"1e999")},
    "nan": b"nan",
    "a date": b"2026-06-01T08:00:00Z",
    "a date of the year 9999": b"9999-12-31T23:59:59Z",
    "a lone brace": b'["{"]',
    "a list of mixed things": b'[1, "two", {three = 3}]',
}


def toml(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Damage one value, key or table of a TOML document."""
    shape = rng.random()
    if shape < 0.1:
        return rng.choice(BYTES)(rng, data)
    records = data.splitlines()
    if shape < 0.25:
        name, piece = rng.choice(
            [
                ("a dotted key of 20,000 parts", b".".join([b"a"] * 20_000) + b" = 1"),
                ("a table of 5,000 parts", b"[" + b".".join([b"t"] * 5_000) + b"]"),
                ("5,000 tables", b"\n".join(b"[[x%d]]" % (number % 50) for number in range(5_000))),
                ("a key twice", rng.choice(records)),
                ("an unknown table", b"[wings]\ncolour = 'red'"),
            ]
        )
        place = rng.choice((0, len(records)))
        return b"\n".join([*records[:place], piece, *records[place:]]) + b"\n", name
    pairs = [number for number, record in enumerate(records) if _KEY_VALUE.match(record)]
    place = rng.choice(pairs)
    match = _KEY_VALUE.match(records[place])
    assert match is not None
    if shape < 0.35:
        return b"\n".join([*records[:place], *records[place + 1 :]]) + b"\n", "a key removed"
    name = rng.choice(list(_TOML_VALUES))
    records[place] = match[1] + _TOML_VALUES[name]
    return b"\n".join(records) + b"\n", name
