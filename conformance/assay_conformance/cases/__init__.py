"""The directed Cases: functions that return Case values, one module a chapter."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from assay_conformance.model.case import Case

__all__ = ["all_cases"]


def all_cases() -> tuple[Case, ...]:
    """Every Case of every chapter, in the order of chapter names: what a chapter module lists as `CASES`."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    return tuple(case for module in modules for case in getattr(module, "CASES", ()))
