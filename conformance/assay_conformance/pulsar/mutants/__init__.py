"""Clients and brokers that break one requirement each: every check must catch those of its requirement.

A mutant is an override of a class of `assay_conformance.client` or `.broker`, and of those in its `also`, in
`<chapter>.py`, or in a folder of that name, of the requirement that it breaks. Its class has the mutant's name, its
docstring says what it does, `breaks` which requirements that breaks, the first of which is to catch it, and
`stands_for` which bug of a real client, or which misreading of the protocol, it imitates. `lateness_ms` is how far an
override of a time bound misses it: twice what the suite tolerates.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from assay_conformance.model.errors import UsageError
from assay_conformance.model.overrides import HONEST, Overrides
from assay_conformance.model.requirement import RequirementId, Side
from assay_conformance.pulsar.overriding import all_classes, description_of, name_of, overrides_in

__all__ = ["Mutant", "mutants", "name_of", "overrides_of"]


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    side: Side
    breaks: tuple[RequirementId, ...]
    does: str
    stands_for: str
    overrides: tuple[type, ...]
    lateness_ms: int | None


@cache
def mutants() -> Mapping[str, Mutant]:
    """Return all mutants by name, chapter by chapter."""
    found = [_mutant(override) for override in overrides_in(sys.modules[__name__], "breaks")]
    return MappingProxyType({mutant.name: mutant for mutant in found})


def overrides_of(names: Iterable[str], lateness_ms: int | None = None) -> Overrides:
    """Return the overrides of these mutants, in the order of their names. Raises UsageError for an unknown name."""
    wanted = tuple(sorted(set(names)))
    return _composed(wanted, lateness_ms) if wanted else HONEST


@cache
def _composed(names: tuple[str, ...], lateness_ms: int | None) -> Overrides:
    if unknown := [name for name in names if name not in mutants()]:
        raise UsageError(f"there is no mutant {', '.join(unknown)}; docs/mutants.md lists them")
    return Overrides((one for name in names for one in mutants()[name].overrides), lateness_ms)


def _mutant(override: type) -> Mutant:
    said = vars(override)
    breaks = (said["breaks"],) if isinstance(said["breaks"], str) else said["breaks"]
    return Mutant(
        name=name_of(override),
        side=Side.CLIENT if override.__bases__[0].__module__.startswith("assay_conformance.client.") else Side.BROKER,
        breaks=tuple(map(RequirementId, breaks)),
        does=description_of(override),
        stands_for=said.get("stands_for", ""),
        overrides=all_classes(override),
        lateness_ms=said.get("lateness_ms"),
    )
