"""Text that agents and wires wrote, made fit to be shown: no control characters, no hidden direction changes.

Escaping for a format (rich, XML, HTML) is the writer's; this is what every writer does first.
"""

from __future__ import annotations

import re

from assay_conformance.model.unknown_keys import closest as closest

# C0 and C1 controls but the line feed, what breaks lines unasked, bidirectional overrides and isolates (they can make
# a line read backwards), zero-width characters, lone surrogates and the two code points XML refuses.
_UNFIT = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)

# All but the white space between its values: in a string JSON lets no control character be.
_UNFIT_IN_JSON = re.compile(_UNFIT.pattern.replace("\x09", "\x08", 1))


def clean(text: str, limit: int | None = None) -> str:
    """Return `text` with unfit characters as visible escapes (`\\x1b`), cut to `limit` characters with an ellipsis."""
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    return _UNFIT.sub(_visible, text)


def one_line(text: str, limit: int | None = None) -> str:
    """Return `text` as `clean` does, with line breaks and runs of blanks as single spaces."""
    return clean(" ".join(text.split()), limit)


def clean_json(document: str) -> str:
    """Return a JSON document with what is unfit in its strings as escapes of JSON's own."""
    return _UNFIT_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", document)


def ms(t_ns: int) -> str:
    return f"{t_ns / 1e6:.1f} ms"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 Case`, `2 Cases`."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
