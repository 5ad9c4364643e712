"""Where sources are read: an address that many entries need stands once, in sources.toml, by how their names begin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from assay_conformance.model.requirement import Requirement

_AT = "at"
"""Key of a table: where all of it is."""


def homes(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return by beginning of a name the address of the sources that are named so."""
    return {
        words + key: f"{table.get(_AT, '')}{rest}"
        for words, table in tables.items()
        for key, rest in table.items()
        if key != _AT
    }


def linked(requirement: Requirement, homes: Mapping[str, str]) -> Requirement:
    """Return the requirement with links for its sources.

    A source without one takes that of the longest beginning of its name, in whole words.
    """
    sources = tuple(
        source if source.link else msgspec.structs.replace(source, link=_home(source.name, homes))
        for source in requirement.sources
    )
    return msgspec.structs.replace(requirement, sources=sources)


def _home(name: str, homes: Mapping[str, str]) -> str:
    fitting = [words for words in homes if name.startswith(words) and not _goes_on(name[len(words) :])]
    return homes[max(fitting, key=len)] if fitting else ""


def _goes_on(rest: str) -> bool:
    """Return whether a word was cut."""
    return rest[:1].isalnum() or rest[:1] == "_"
