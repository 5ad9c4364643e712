"""Former names: what ids of requirements and Cases, and names of mutants, were before they were renamed.

`renamed.toml` is the table. A former name is never given to anything else, so what was written with it still reads:
file formats by the upgrade of their schema, lists of expectations as they are parsed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

_ID = re.compile(r"(?<![\w./-])[a-z][a-z0-9-]*[./][a-z0-9][a-z0-9-]*(?![\w/-])")
"""Words that may be the id of a requirement or of a Case: no part of a path, of a version or of a longer word."""
_SHOWN = 3
"""Names of today in a hint."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """Former name -> name, for each kind of name."""

    requirements: Mapping[str, str]
    cases: Mapping[str, str]
    mutants: Mapping[str, str]


@cache
def table() -> Renamed:
    """Return the whole table."""
    return Renamed(**tomllib.loads(files(__package__).joinpath("renamed.toml").read_text("utf-8")))


@cache
def _ids() -> Mapping[str, str]:
    return {**table().requirements, **table().cases}


@cache
def _formers() -> Mapping[str, str]:
    return {now: former for former, now in table().cases.items()}


def current(text: str) -> str:
    """Return `text` with every former id of a requirement or a Case replaced by its present one.

    The text may be an id alone, a permutation (`resend/producer-epochs@lz4`) or a sentence.
    """
    return _ID.sub(lambda match: _ids().get(match[0], match[0]), text)


def former_case(case_id: str) -> str | None:
    """Return the id that a Case, or the permutation of one, had before it was renamed; None where it was not."""
    base, at, words = case_id.partition("@")
    former = _formers().get(base)
    return None if former is None else f"{former}{at}{words}"


def hint(word: str) -> str:
    """Return `; it is called 'that' now` for a former name; "" for any other word.

    It may also be a pattern that former names match, or their chapter.
    """
    found = [now for old, now in {**_ids(), **table().mutants}.items() if _is_meant(old, word)]
    if not found:
        return ""
    shown = ", ".join(map(repr, found[:_SHOWN])) + (", ..." if len(found) > _SHOWN else "")
    return f"; {'it is' if len(found) == 1 else 'they are'} called {shown} now"


def _is_meant(former: str, word: str) -> bool:
    return fnmatchcase(former, word) or (word.isidentifier() and former.startswith((f"{word}.", f"{word}/")))


def renamed(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record of a file, with present ids in all of its texts and keys."""
    return {current(key): _value(value) for key, value in record.items()}


def _value(value: Any) -> Any:
    match value:
        case str():
            return current(value)
        case dict():
            return renamed(value)
        case list():
            return [_value(one) for one in value]
        case _:
            return value
