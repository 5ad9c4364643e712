"""What every JSON and TOML text of foreign origin is held to."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.model.doors import (
    MOST_DEPTH,
    MOST_KEY_PARTS,
    MalformedError,
    check_json_lines,
    decode_json,
    parse_toml,
    shortened,
    shown,
)

ANY = msgspec.json.Decoder(Any)


def _numbered(*cases: object) -> list[Any]:
    """By number: an id of the text itself would be as long as that."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), id=str(n)) for n, case in enumerate(cases)]


@pytest.mark.parametrize(
    ("text", "what"),
    _numbered(
        (b"", "is empty"),
        (b'{"a":', "ends in the middle of a JSON value"),
        (b'{"a":"\xff"}', "is not UTF-8: invalid start byte at byte 6"),
        (b'{"unknown":"\xff"}', "is not UTF-8"),
        (b'"\\udc00 "', "surrogate"),
        (b"[" * (MOST_DEPTH + 1) + b"]" * (MOST_DEPTH + 1), "nests deeper than 64 levels at byte 64"),
        (b'{"a":' * 100_000, "nests deeper"),
        (b"18446744073709551616", "an integer beyond 64 bits"),
        (b"-9223372036854775809", "an integer beyond 64 bits"),
        (b"9" * 10_000, "an integer beyond 64 bits"),
        (b"1e400", "out of range"),
    ),
)
def test_json_beyond_the_bounds_is_malformed(text: bytes, what: str) -> None:
    with pytest.raises(MalformedError, match=what) as raised:
        decode_json(text, ANY)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    "text",
    _numbered(
        b"[" * MOST_DEPTH + b"]" * MOST_DEPTH,
        b'"' + b"[" * 1000 + b'"',
        b'"\\"' + b"[" * 1000 + b'"',
        b"[" + b",".join([b"[{}]"] * 1000) + b"]",
        b"18446744073709551615",
        b"-9223372036854775808",
        b'"' + b"9" * 1000 + b'"',
        b"0." + b"9" * 100,
        b"1" + b"0" * 30 + b".0",
    ),
)
def test_json_within_the_bounds_is_read_as_ever(text: bytes) -> None:
    assert decode_json(text, ANY) == msgspec.json.decode(text)


def test_one_bad_line_among_many_is_found() -> None:
    good = b'{"a":[1,2,{}]}\n' * 1000
    check_json_lines(good)
    with pytest.raises(MalformedError, match="nests deeper"):
        check_json_lines(good + b"[" * (MOST_DEPTH + 1) + b"\n" + good)


def test_lines_with_as_many_brackets_side_by_side_are_fine() -> None:
    check_json_lines((b"[" + b",".join([b"[]"] * 200) + b"]\n") * 3)


@pytest.mark.parametrize(
    ("text", "what"),
    _numbered(
        (b'a = "\xff"', "is not UTF-8"),
        (b"a =\n", "is not TOML: .*line 1"),
        (b"a = " + b"[" * 1000 + b"]" * 1000, "nests deeper than 64 levels in line 1"),
        (b"\n" + b".".join([b"a"] * (MOST_KEY_PARTS + 1)) + b" = 1", "more than 16 dotted parts in line 2"),
        (b".".join([b'"a"', b" 'b' "] * MOST_KEY_PARTS) + b" = 1", "dotted parts"),
        (b"[" + b".".join([b"a"] * 20_000) + b"]", "dotted parts"),
        (b"a = " + b"9" * 30, "an integer beyond 64 bits"),
        (b"a = [0x" + b"f" * 30 + b"]", "an integer beyond 64 bits"),
        (b"a = " + b"9" * 10_000, "an integer beyond 64 bits"),
        (b"\n".join(b"[" + b".".join([b"%d" % n] * 16) + b"]" for n in range(3)) + b"\n" + b"x" * 3, "is not TOML"),
    ),
)
def test_toml_beyond_the_bounds_is_malformed(text: bytes, what: str) -> None:
    with pytest.raises(MalformedError, match=what) as raised:
        parse_toml(text)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    "text",
    _numbered(
        "a = '''" + "x." * 100 + "'''",
        'a = """' + "[x." * 100 + '"""""',
        "# " + "a." * 100 + "\na = 1",
        'a = "\\"' + "[" * 100 + '"',
        'reason = "3.5.0.1"\n' * 1 + "\n".join(f"[t{n}.a.b]\nc = [1.5, 2]" for n in range(100)),
        "a = 0xffffffffffffffff",
    ),
)
def test_toml_within_the_bounds_is_read(text: str) -> None:
    assert parse_toml(text.encode())


@pytest.mark.parametrize(
    "value", _numbered("x" * 10**6, b"x" * 10**6, 10**5000, ["x" * 100] * 100, {"a": [[[[["x"]]]]]})
)
def test_a_shown_value_is_short(value: object) -> None:
    assert len(shown(value)) <= 80


def test_what_is_shortened_keeps_beginning_and_end() -> None:
    assert shortened("begin" + "x" * 100 + "end", 12) == "beginxx…xend"
