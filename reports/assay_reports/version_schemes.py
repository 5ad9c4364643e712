"""Version schemes: how the versions of a client are read and compared, and its ranges of them; one row a scheme."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

Ordered = tuple[Any, ...]
"""A version as what Python orders as its scheme does."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """`parse` reads a version, `ranges` a range; both raise ValueError. `inside` takes what they return."""

    title: str
    parse: Callable[[str], Any]
    ranges: Callable[[str], Any]
    inside: Callable[[Any, Any], bool]
    range_example: str


# --- PEP 440: Python ---


def _pep440(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion as error:
        raise ValueError(str(error)) from error


def _pep440_range(text: str) -> SpecifierSet:
    try:
        return SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(str(error)) from error


# --- comparisons, for schemes that have no ranges of their own, or several notations of them ---

_COMPARISON: Final = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*")
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}

_Comparisons = tuple[tuple[Callable[[Any, Any], bool], Ordered], ...]


def _comparisons(parse: Callable[[str], Ordered]) -> Callable[[str], _Comparisons]:
    def read(text: str) -> _Comparisons:
        matches = [_COMPARISON.fullmatch(part) for part in text.split(",")] if text.strip() else []
        if not all(matches):
            raise ValueError(f"{text!r} is no list of comparisons")
        return tuple((_OPERATORS[match[1]], parse(match[2])) for match in matches if match)

    return read


def _all_hold(version: Ordered, within: _Comparisons) -> bool:
    return all(holds(version, other) for holds, other in within)


# --- Semantic Versioning 2.0: Rust, npm, and Go, whose pseudo-versions are pre-releases ---

_SEMVER: Final = re.compile(
    r"v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?",
    re.ASCII,
)


def _semver(text: str) -> Ordered:
    """Read a semantic version; what is behind a `+` does not count."""
    match = _SEMVER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no semantic version")
    major, minor, patch, before = match.groups()
    identifiers = tuple(
        (0, int(one), "") if one.isdecimal() else (1, 0, one) for one in (before or "").split(".") if one
    )
    return (int(major), int(minor), int(patch), before is None, identifiers)


# --- Maven: Java ---

_MAVEN: Final = re.compile(r"[0-9A-Za-z]+(?:[.\-_+]?[0-9A-Za-z]+)*", re.ASCII)
_TOKEN: Final = re.compile(r"\d+|[A-Za-z]+")
_QUALIFIERS: Final[Mapping[str, int]] = {
    "alpha": 0,
    "a": 0,
    "beta": 1,
    "b": 1,
    "milestone": 2,
    "m": 2,
    "rc": 3,
    "cr": 3,
    "snapshot": 4,
    "": 5,
    "ga": 5,
    "final": 5,
    "release": 5,
    "sp": 6,
}
"""As Maven's ComparableVersion ranks them; words that it does not know come behind all of these, and numbers last."""

_UNKNOWN: Final = 7
_NUMBER: Final = 8

_END: Final = (5, "", 0)
"""What a shorter version has where a longer one goes on: the rank of a release."""


def _maven(text: str) -> Ordered:
    """Read a Maven version; zeros, and words that mean a release, say nothing in front of a word and at the end."""
    if not _MAVEN.fullmatch(text):
        raise ValueError(f"{text!r} is no Maven version")
    items: list[tuple[int, str, int]] = []
    for token in _TOKEN.findall(text.lower()):
        if not token.isdecimal():
            _trim(items)
        items.append(_maven_item(token))
    _trim(items)
    return (*items, _END)


def _maven_item(token: str) -> tuple[int, str, int]:
    if token.isdecimal():
        return (_NUMBER, "", int(token))
    return (_QUALIFIERS[token], "", 0) if token in _QUALIFIERS else (_UNKNOWN, token, 0)


def _trim(items: list[tuple[int, str, int]]) -> None:
    while items and items[-1] in (_END, (_NUMBER, "", 0)):
        items.pop()


SCHEMES: Final[Mapping[str, Scheme]] = {
    "pep440": Scheme(
        title="PEP 440",
        parse=_pep440,
        ranges=_pep440_range,
        inside=lambda version, within: within.contains(version, prereleases=True),
        range_example=">=3.5,<=3.13.0",
    ),
    "semver": Scheme(
        title="semantic",
        parse=_semver,
        ranges=_comparisons(_semver),
        inside=_all_hold,
        range_example=">=0.12.1,<=0.21.0",
    ),
    "maven": Scheme(
        title="Maven",
        parse=_maven,
        ranges=_comparisons(_maven),
        inside=_all_hold,
        range_example=">=3.0.0,<=4.2.4",
    ),
}

DEFAULT: Final = "pep440"


def alike(scheme: str, one: str, other: str) -> bool:
    """Return whether two spellings are of one version; if the scheme cannot read them, whether they are identical."""
    parse = SCHEMES[scheme].parse
    try:
        return one == other or parse(one) == parse(other)
    except ValueError:
        return False


def inside(scheme: str, version: str, within: str) -> bool:
    """Return whether `version` lies in the range; one that the scheme cannot read (a local build) lies in none."""
    rules = SCHEMES[scheme]
    try:
        return rules.inside(rules.parse(version), rules.ranges(within))
    except ValueError:
        return False
