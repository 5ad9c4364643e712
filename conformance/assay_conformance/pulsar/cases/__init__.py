"""The directed Cases: functions that return Case values, in a module or a folder of modules a chapter.

The Cases of `chapter.some-words` are in `<chapter>.py` or below `<chapter>/`; a Case about several chapters is with one
of them. A module that makes Cases of functions with arguments lists all of its Cases, as `CASES`; of any other each
public function that returns a Case is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import FunctionType, ModuleType

from assay_conformance.model.case import Case

__all__ = ["all_cases", "cases_of", "modules"]


def modules() -> Iterator[ModuleType]:
    """Yield every module that has Cases, in the order of names."""
    for found in walk_packages(__path__, f"{__name__}."):
        module = import_module(found.name)
        if cases_of(module):
            yield module


@cache
def cases_of(module: ModuleType) -> tuple[Case, ...]:
    """Return the Cases of one module, in the order in which they are defined."""
    listed: tuple[Case, ...] | None = getattr(module, "CASES", None)
    return tuple(make() for make in _makers(module)) if listed is None else listed


def _makers(module: ModuleType) -> Iterator[FunctionType]:
    for name, value in vars(module).items():
        own = isinstance(value, FunctionType) and value.__module__ == module.__name__ and not name.startswith("_")
        if own and value.__annotations__ == {"return": "Case"}:
            yield value


def all_cases() -> tuple[Case, ...]:
    """Return every Case of every chapter, in the order of their modules' names."""
    return tuple(case for module in modules() for case in cases_of(module))
