"""The catalogue: every requirement and capability, stated once in the TOML files of this package."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import msgspec

from assay_conformance.catalogue.sources import homes, linked
from assay_conformance.model.errors import UsageError
from assay_conformance.model.facts import Lack
from assay_conformance.model.requirement import Capability, Profile, Requirement, RequirementId, Side, Statement

Entry = TypeVar("Entry", Requirement, Capability, Profile, Statement)

_CAPABILITIES = "capabilities.toml"
_CHAPTERS = "chapters.toml"
_PROFILES = "profiles.toml"
_SOURCES = "sources.toml"
_STATEMENTS = "statements.toml"
_NO_CHAPTER = frozenset({_CAPABILITIES, _CHAPTERS, _PROFILES, _SOURCES, _STATEMENTS})


@dataclass(frozen=True, slots=True)
class Catalogue:
    """`requirements` in catalogue order; `revision` is a digest of their text, so a verdict names what it judged.

    `broken` says of a chapter what an application meets when a requirement of it does not hold; `statements` are the
    details that requirements cover, or that none does.
    """

    requirements: Mapping[str, Requirement]
    capabilities: Mapping[str, Capability]
    chapters: Mapping[str, str]
    revision: str
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    statements: Mapping[str, Statement] = field(default_factory=dict)

    @property
    def of_brokers(self) -> frozenset[RequirementId]:
        """The requirements that a broker has to keep: they count neither for nor against a client."""
        return frozenset(stated.id for stated in self.requirements.values() if stated.side is Side.BROKER)

    def members(self, profile: Profile) -> tuple[Requirement, ...]:
        """Return the requirements of a profile, in catalogue order."""
        return tuple(requirement for requirement in self.requirements.values() if profile.takes(requirement))

    def merged(self, other: Catalogue) -> Catalogue:
        """Return this catalogue with a plug-in's. Raises UsageError when an id is stated twice."""
        for mine, theirs in (
            (self.requirements, other.requirements),
            (self.capabilities, other.capabilities),
            (self.profiles, other.profiles),
            (self.statements, other.statements),
        ):
            if twice := set(mine) & set(theirs):
                raise UsageError(f"catalogue: {sorted(twice)[0]!r} is stated twice; a plug-in's ids carry its prefix")
        return Catalogue(
            requirements={**self.requirements, **other.requirements},
            capabilities={**self.capabilities, **other.capabilities},
            chapters={**other.chapters, **self.chapters},
            profiles={**self.profiles, **other.profiles},
            broken={**other.broken, **self.broken},
            statements={**self.statements, **other.statements},
            revision=hashlib.sha256((self.revision + other.revision).encode()).hexdigest()[:12],
        )


def parse(documents: Mapping[str, str], *, borrowed: Collection[str] = ()) -> Catalogue:
    """Return the catalogue of these files: name -> TOML text.

    Raises UsageError, which names the file, the key and what was expected. `borrowed` are capabilities stated
    elsewhere: a plug-in's requirements may need those of our catalogue.
    """
    requirements: dict[str, Requirement] = {}
    for name, text in documents.items():
        if name not in _NO_CHAPTER:
            requirements.update(_entries(name, text, Requirement, "id"))
    known = homes(_tables(_SOURCES, documents.get(_SOURCES, "")))
    requirements = {id: linked(stated, known) for id, stated in requirements.items()}
    capabilities = _entries(_CAPABILITIES, documents.get(_CAPABILITIES, ""), Capability, "name")
    chapters = _tables(_CHAPTERS, documents.get(_CHAPTERS, ""))
    profiles = _entries(_PROFILES, documents.get(_PROFILES, ""), Profile, "name")
    needs = {str(stated.id): stated.capabilities for stated in requirements.values()}
    needs |= {f"profile {profile.name}": (*profile.capabilities, *profile.about) for profile in profiles.values()}
    _known(needs, {*capabilities, *borrowed}, "capability", _CAPABILITIES)
    assumed = {str(stated.id): stated.assumes for stated in requirements.values()}
    _known(assumed, {*Lack}, "lack", "the words of agent.toml")
    presupposed = {str(stated.id): stated.presupposes for stated in requirements.values()}
    _known(presupposed, requirements, "requirement", "any chapter")
    statements = _statements(documents.get(_STATEMENTS, ""))
    _known({str(one.id): one.covers for one in requirements.values()}, statements, "statement", _STATEMENTS)
    beside = {name: (one.beside,) for name, one in statements.items() if one.beside}
    _known(beside, requirements, "requirement", "any chapter")
    digest = hashlib.sha256("\0".join(f"{name}\0{documents[name]}" for name in sorted(documents)).encode())
    titles = {name: str(table["title"]) for name, table in chapters.items()}
    broken = {name: str(table["broken"]) for name, table in chapters.items() if "broken" in table}
    return Catalogue(requirements, capabilities, titles, digest.hexdigest()[:12], profiles, broken, statements)


@cache
def load() -> Catalogue:
    """Return our own catalogue."""
    folder = files(__package__)
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return parse({name: folder.joinpath(name).read_text("utf-8") for name in names})


def _tables(name: str, text: str) -> dict[str, dict[str, Any]]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: not TOML: {error}") from error


def _entries(name: str, text: str, kind: type[Entry], key: str) -> dict[str, Entry]:
    tables = _tables(name, text)
    return {words: _converted(name, words, {**table, key: words}, kind) for words, table in tables.items()}


def _converted(name: str, words: str, fields: Mapping[str, Any], kind: type[Entry]) -> Entry:
    try:
        return msgspec.convert(fields, kind, strict=True)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {words!r}: {error}") from error


def _statements(text: str) -> dict[str, Statement]:
    """Return the statements by section and name; one that is only a sentence is covered by some requirement."""
    found: dict[str, Statement] = {}
    for section, table in _tables(_STATEMENTS, text).items():
        for name, stated in table.items():
            fields = stated if isinstance(stated, dict) else {"words": stated}
            if name != "title":
                fields = {**fields, "name": f"{section}/{name}", "title": table.get("title", section)}
                found[fields["name"]] = _converted(_STATEMENTS, fields["name"], fields, Statement)
    return found


def _known(named: Mapping[str, Iterable[str]], stated: Collection[str], what: str, where: str) -> None:
    for who, names in named.items():
        for name in names:
            if name not in stated:
                raise UsageError(
                    f"{who}: {what} {name!r} is not stated in {where}; expected one of {', '.join(sorted(stated))}"
                )
