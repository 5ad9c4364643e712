"""The directed Cases: functions that return Case values, in a module or a folder of modules a chapter.

The Cases of `chapter.some-words` stand in `<chapter>.py` or below `<chapter>/`; one that is about several chapters
stands with one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

from assay_conformance.model.case import Case

__all__ = ["all_cases", "modules"]


def modules() -> Iterator[ModuleType]:
    """Every module that lists Cases as `CASES`, in the order of names."""
    for found in walk_packages(__path__, f"{__name__}."):
        module = import_module(found.name)
        if hasattr(module, "CASES"):
            yield module


def all_cases() -> tuple[Case, ...]:
    """Every Case of every chapter, in the order of their modules' names."""
    return tuple(case for module in modules() for case in module.CASES)
