"""Lawful variants: the reference client with a behaviour of a released client that differs from it and is allowed.

No check may blame a variant, and none may be left without its precondition by one: whatever these clients do is not
the protocol's to forbid. A variant is an override of a class of `assay_conformance.client`, and of those in its
`also`. Its class has the variant's name, its docstring says what it does, `as_in` which released client does so, and
`within` which requirements allow it: those whose checks look at what it does. `declares` is what its agent.toml says,
and the reference client's does not: fields of `ClientFacts`; `lacks` the missing capabilities, `fixes` the constants
that no option sets, `unsettable` the missing options.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

import msgspec

from assay_conformance.model.case import ConfigValue
from assay_conformance.model.errors import UsageError
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.overrides import HONEST, Overrides
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.overriding import all_classes, description_of, name_of, overrides_in


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    does: str
    as_in: str
    within: tuple[RequirementId, ...]
    overrides: tuple[type, ...]
    declares: Mapping[str, Any] = field(default_factory=dict)
    lacks: frozenset[str] = frozenset()
    fixes: Mapping[str, ConfigValue] = field(default_factory=dict)
    unsettable: frozenset[str] = frozenset()


@cache
def variants() -> Mapping[str, Variant]:
    """Return all variants by name, module by module."""
    found = [_variant(override) for override in overrides_in(sys.modules[__name__], "as_in")]
    return MappingProxyType({variant.name: variant for variant in found})


def variant_overrides(names: Iterable[str]) -> Overrides:
    """Return the overrides of these variants, in the order of their names. Raises UsageError for an unknown name."""
    wanted = _named(names)
    return Overrides(one for variant in wanted for one in variant.overrides) if wanted else HONEST


def variant_facts(facts: ClientFacts, names: Iterable[str]) -> ClientFacts:
    """Return the facts of a client with these variants. Raises UsageError for an unknown name."""
    for variant in _named(names):
        facts = msgspec.structs.replace(
            facts,
            capabilities=facts.capabilities - variant.lacks,
            fixed={**facts.fixed, **variant.fixes},
            settable=facts.settable - variant.fixes.keys() - variant.unsettable,
            defaults={key: value for key, value in facts.defaults.items() if key not in variant.unsettable},
        )
        facts = msgspec.structs.replace(facts, **variant.declares)
    return facts


def _named(names: Iterable[str]) -> list[Variant]:
    wanted = sorted(set(names))
    if unknown := [name for name in wanted if name not in variants()]:
        raise UsageError(f"there is no variant {', '.join(unknown)}; there are {', '.join(variants())}")
    return [variants()[name] for name in wanted]


def _variant(override: type) -> Variant:
    said = vars(override)
    return Variant(
        name=name_of(override),
        does=description_of(override),
        as_in=said["as_in"],
        within=tuple(map(RequirementId, said["within"])),
        overrides=all_classes(override),
        declares=said.get("declares", {}),
        lacks=frozenset(said.get("lacks", ())),
        fixes=said.get("fixes", {}),
        unsettable=frozenset(said.get("unsettable", ())),
    )
