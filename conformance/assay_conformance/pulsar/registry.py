"""The registry: requirement id -> the check that judges it, from the module that its id names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from assay_conformance.checks.base import Check
from assay_conformance.pulsar import checks

__all__ = ["CHECKS"]


def _modules() -> Iterator[ModuleType]:
    for chapter in iter_modules(checks.__path__, f"{checks.__name__}."):
        if chapter.ispkg:
            for module in iter_modules(import_module(chapter.name).__path__, f"{chapter.name}."):
                if not module.name.rpartition(".")[2].startswith("_"):
                    yield import_module(module.name)


def _checks_of(module: ModuleType) -> Iterator[type[Check]]:
    """Yield the check classes that a module defines itself: those with a requirement of their own."""
    for value in vars(module).values():
        own = isinstance(value, type) and issubclass(value, Check) and value.__module__ == module.__name__
        if own and "requirement" in vars(value):
            yield value


CHECKS: Mapping[str, type[Check]] = {check.requirement: check for module in _modules() for check in _checks_of(module)}
