"""Overrides of the reference client and broker, found where they stand: each class of a package that bears a mark.

The class has the override's name: `AckFlushLate` is `ack-flush-late`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from inspect import getdoc
from pkgutil import walk_packages
from types import ModuleType


def overrides_in(package: ModuleType, mark: str) -> Iterator[type]:
    """Yield the classes with an attribute `mark` of their own in a package's modules, in the order of the modules."""
    for found in sorted(walk_packages(package.__path__, f"{package.__name__}."), key=lambda found: found.name):
        module = import_module(found.name)
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__ and mark in vars(value):
                yield value


def name_of(override: type) -> str:
    """Return the name of an override: `AckFlushLate` -> `ack-flush-late`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", override.__name__).lower()


def description_of(override: type) -> str:
    """Return the docstring of an override, on one line."""
    return " ".join((getdoc(override) or "").split())


def all_classes(override: type) -> tuple[type, ...]:
    """Return the override, and those in its `also`, which go with it."""
    return (override, *vars(override).get("also", ()))
