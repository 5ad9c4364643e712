"""Lawful variants: the reference client doing what a released client does otherwise, and may do.

No check may blame a variant, and none may be left without its precondition by one: whatever these clients do is not
the protocol's to forbid. A variant is an override of a class of `assay_conformance.client`, and of those in its
`also`. Its class has the variant's name, its docstring says what it does, `as_in` which released client does so, and
`within` which requirements allow it: those whose checks look at what it does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from assay_conformance.model.errors import UsageError
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


@cache
def variants() -> Mapping[str, Variant]:
    """All variants by name, module by module."""
    found = [_variant(override) for override in overrides_in(sys.modules[__name__], "as_in")]
    return MappingProxyType({variant.name: variant for variant in found})


def variant_overrides(names: Iterable[str]) -> Overrides:
    """The overrides of these variants, in the order of their names. Raises UsageError for a name that is none."""
    wanted = sorted(set(names))
    if unknown := [name for name in wanted if name not in variants()]:
        raise UsageError(f"there is no variant {', '.join(unknown)}; there are {', '.join(variants())}")
    return Overrides(one for name in wanted for one in variants()[name].overrides) if wanted else HONEST


def _variant(override: type) -> Variant:
    said = vars(override)
    return Variant(
        name=name_of(override),
        does=description_of(override),
        as_in=said["as_in"],
        within=tuple(map(RequirementId, said["within"])),
        overrides=all_classes(override),
    )
