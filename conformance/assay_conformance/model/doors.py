"""What holds for every JSON and TOML text from outside, before anything else looks at it.

A text is UTF-8, nests no deeper than `MOST_DEPTH`, holds no integer beyond 64 bits, and (TOML) no key of more than
`MOST_KEY_PARTS` dotted parts. Past a door a value is safe to walk recursively, to encode again and to show. What is
wrong with a text is a MalformedError; the reader that knows the file makes a sentence of it: a UsageError that names
the file, or a verdict against the agent that wrote the line.

The bounds are looked for in the bytes, since parsers differ in where they give up: at a depth that follows from the
interpreter's stack, with an error of Python's own, or (tomllib, dotted keys) after memory that grows with the square.
"""

from __future__ import annotations

import re
import reprlib
import tomllib
from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec

from assay_conformance.model.unknown_keys import unknown_key

MOST_DEPTH: Final = 64
"""Brackets within brackets. The deepest file of ours has eleven."""
MOST_KEY_PARTS: Final = 16
MOST_SHOWN: Final = 80
"""Characters of a foreign value in a sentence."""
MOST_REASON: Final = 240
"""Characters of what a parser says, which quotes names and values whole."""

T = TypeVar("T")

_INT64, _UINT64 = -(1 << 63), (1 << 64) - 1
_SHORTEST_BAD_INTEGER = b"0" * 19
_AS_ZERO = bytes(ord("0") if 0x30 <= byte <= 0x39 else byte for byte in range(256))
"""Every digit as 0: whether there is a long number is then one search."""

_JSON_TOKEN = re.compile(rb'"(?:[^"\\\n]++|\\.)*+"?|[\[{]|[\]}]|(?<![.0-9eE+-])-?[0-9]{19,}+(?![.eE])')
_TOML_TOKEN = re.compile(
    r'(?P<text>"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5})?|'
    r"'''(?:[^']++|'(?!''))*+(?:'{3,5})?|"
    r'"(?:[^"\\\n]++|\\.)*+"?|'
    r"'[^'\n]*+'?)|"
    r"(?P<comment>\#[^\n]*+)|(?P<word>[A-Za-z0-9_-]++)|(?P<dot>\.)|(?P<blank>[ \t]++)|"
    r"(?P<open>[\[{])|(?P<close>[\]}])|(?P<other>.)",
    re.DOTALL,
)


class MalformedError(ValueError):
    """What is wrong with a text, as the end of a sentence that begins with its name."""


# --- JSON ---


def check_json(text: bytes) -> None:
    """Raise MalformedError where one JSON document goes beyond the bounds; this is not a check that it is one."""
    _check_utf8(text)
    if _has_many_brackets(text) or _has_long_number(text):
        _scan(text)


def check_json_lines(text: bytes) -> None:
    """Check many documents, each on a line of its own, as `check_json` does one."""
    _check_utf8(text)
    lines = text.split(b"\n")
    suspects = lines if _has_long_number(text) else [line for line in lines if _has_many_brackets(line)]
    for line in suspects:
        if _has_many_brackets(line) or _has_long_number(line):
            _scan(line)


def decode_json(text: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Return the value of a JSON document of foreign origin.

    Raises MalformedError where it is none, or not of the decoder's type.
    """
    check_json(text)
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise MalformedError(reason(error, text, decoder.type)) from error


def reason(error: Exception, text: bytes | None = None, shape: Any = None) -> str:
    """Return what msgspec says about `text`, which was to be a `shape`.

    It is cut to a length that can be read; the place at its end is kept.
    """
    if text is not None and not text.strip():
        return "is empty, expected a JSON value"
    said = str(error)
    if said == _CUT_OFF and text is not None and _SURROGATE.search(text):
        return "holds half of a surrogate pair"
    if (extra := unknown_key(said, shape)) is not None:
        key, place, instead = extra
        return shortened(f"unknown key {shown(key)}{f' in {place}' if place else ''}{instead}", MOST_REASON)
    return _CLEARER.get(said) or shortened(said, MOST_REASON)


_CUT_OFF: Final = "Input data was truncated"
"""So msgspec says of half a surrogate pair, too."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_CLEARER: Final = {_CUT_OFF: "ends in the middle of a JSON value"}
"""What msgspec says -> what it means."""


def convert(value: Any, shape: type[T]) -> T:
    """Convert a value as msgspec does. Raises MalformedError instead of msgspec's error, with quotations cut short."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise MalformedError(reason(error, None, shape)) from error


def _check_utf8(text: bytes) -> None:
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise MalformedError(f"is not UTF-8: {error.reason} at byte {error.start}") from error


def _has_many_brackets(text: bytes) -> bool:
    return text.count(b"[") + text.count(b"{") > MOST_DEPTH


def _has_long_number(text: bytes) -> bool:
    return _SHORTEST_BAD_INTEGER in text.translate(_AS_ZERO)


def _scan(text: bytes) -> None:
    depth = 0
    for match in _JSON_TOKEN.finditer(text):
        token = match.group()
        if token in b"[{":
            depth += 1
            if depth > MOST_DEPTH:
                raise MalformedError(f"nests deeper than {MOST_DEPTH} levels at byte {match.start()}")
        elif token in b"]}":
            depth -= 1
        elif not token.startswith(b'"'):
            _check_digits(token.decode())


def _check_digits(digits: str) -> None:
    if len(digits) > 20 or not _INT64 <= int(digits) <= _UINT64:
        raise MalformedError(f"holds an integer beyond 64 bits: {shortened(digits, MOST_SHOWN)}")


# --- TOML ---


def parse_toml(text: bytes) -> dict[str, Any]:
    """Return the tables of a TOML file of foreign origin. Raises MalformedError where it is none."""
    _check_utf8(text)
    words = text.decode()
    _scan_toml(words)
    try:
        tables = tomllib.loads(words)
    except RecursionError as error:
        raise MalformedError(f"nests deeper than {MOST_DEPTH} levels") from error
    except ValueError as error:
        # Of long numbers tomllib lets Python's own error through.
        said = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "an integer beyond 64 bits"
        raise MalformedError(f"is not TOML: {shortened(said, MOST_REASON)}") from error
    _check_values(tables)
    return tables


def _scan_toml(text: str) -> None:
    depth = dots = 0
    for match in _TOML_TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "dot":
            dots += 1
            if dots >= MOST_KEY_PARTS:
                line = text.count("\n", 0, match.start()) + 1
                raise MalformedError(f"has a key of more than {MOST_KEY_PARTS} dotted parts in line {line}")
        elif kind not in ("word", "blank", "text"):
            dots = 0
            depth += (kind == "open") - (kind == "close")
            if depth > MOST_DEPTH:
                line = text.count("\n", 0, match.start()) + 1
                raise MalformedError(f"nests deeper than {MOST_DEPTH} levels in line {line}")


def _check_values(value: Any) -> None:
    """Check decoded values: dotted keys nest, too, and a scan for digits does not see integers in other bases."""
    level: list[Any] = [value]
    for _ in range(MOST_DEPTH + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        for one in level:
            if type(one) is int and not _INT64 <= one <= _UINT64:
                raise MalformedError(f"holds an integer beyond 64 bits: {shown(one)}")
        if not level:
            return
    raise MalformedError(f"nests deeper than {MOST_DEPTH} levels")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


# --- showing ---

_repr = reprlib.Repr()
_repr.maxlevel, _repr.maxlist, _repr.maxtuple, _repr.maxdict = 3, 8, 8, 8
_repr.maxstring = _repr.maxlong = _repr.maxother = MOST_SHOWN


def shown(value: object, limit: int = MOST_SHOWN) -> str:
    """Return a foreign value for a sentence: as Python writes it, cut short."""
    if type(value) is int and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    return shortened(_repr.repr(value), limit)


def shortened(text: str, limit: int) -> str:
    """Return the text, or its beginning and end where it is longer: parsers name the place at the end."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"
