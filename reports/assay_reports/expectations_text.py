"""A list of known deviations as the text of its file, always in one form."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import msgspec

from assay_reports.deviations import Deviation, Seen
from assay_reports.expectations import Expectations
from assay_reports.expectations_schema import SCHEMA
from assay_reports.version_schemes import DEFAULT

_WIDTH = 120
_PROSE = frozenset({"reason"})
"""Keys of texts that run over lines."""


def render(listed: Expectations, comment: str = "") -> str:
    """Return the file's text; `comment` stands in front, each line with its `#`."""
    owner = ("broker", listed.broker) if listed.broker else ("agent", listed.agent)
    scheme = [("scheme", listed.scheme)] if listed.scheme != DEFAULT else []
    head = [("schema", SCHEMA), owner, *scheme, ("tested", listed.tested)]
    lines = [*([comment.rstrip("\n")] if comment else []), *(f"{key} = {quoted(value)}" for key, value in head)]
    return "\n".join(lines) + "\n" + "".join(f"\n{deviation_text(one)}" for one in listed.deviations)


def deviation_text(deviation: Deviation) -> str:
    """Return one [[deviation]] with its places, as TOML."""
    own = {key: value for key, value in msgspec.structs.asdict(deviation).items() if key != "seen"}
    lines = ["[[deviation]]"]
    for key, value in own.items():
        if value or key == "reason":
            lines += _prose(key, value) if key in _PROSE else [_line(key, value)]
    return "\n".join(lines) + "\n" + "".join(f"\n{seen_text(one)}" for one in deviation.seen)


def seen_text(seen: Seen) -> str:
    """Return one [[deviation.seen]], as TOML."""
    default = Seen(requirement=seen.requirement, code=seen.code, cases=())
    lines = ["[[deviation.seen]]"]
    for key in seen.__struct_fields__:
        value = getattr(seen, key)
        if value != getattr(default, key) or key in ("requirement", "code"):
            lines.append(_line(key, value))
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """Return a TOML string."""
    # JSON's strings are TOML's basic strings, but for DEL.
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")


def _line(key: str, value: object) -> str:
    if isinstance(value, str):
        return f"{key} = {quoted(str(value))}"
    if isinstance(value, tuple):
        return f"{key} = {_list(f'{key} = ', value)}"
    return f"{key} = {str(value).lower()}"


def _list(before: str, values: tuple[str, ...]) -> str:
    inside = ", ".join(quoted(value) for value in values)
    if len(before) + len(inside) + 2 <= _WIDTH:
        return f"[{inside}]"
    return "[\n" + "".join(f"    {quoted(value)},\n" for value in values) + "]"


def _prose(key: str, text: str) -> Iterator[str]:
    """Yield a text of several paragraphs in lines of one width, which TOML joins: a backslash ends a line that goes
    on."""
    paragraphs = text.split("\n\n")
    fits = len(key) + len(text) + 5 <= _WIDTH and len(paragraphs) == 1
    if fits or any(paragraph != " ".join(paragraph.split()) for paragraph in paragraphs):
        yield f"{key} = {quoted(text)}"
        return
    yield f'{key} = """'
    for number, paragraph in enumerate(paragraphs):
        last = number == len(paragraphs) - 1
        wrapped = textwrap.wrap(paragraph, _WIDTH - 2, break_long_words=False, break_on_hyphens=False)
        escaped = [line.replace("\\", "\\\\").replace('"""', '""\\"') for line in wrapped]
        yield from (f"{line} \\" for line in escaped[:-1])
        yield escaped[-1] + ('"""' if last else "\n")
