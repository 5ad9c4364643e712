"""Classes with some of their methods replaced, and how several such replacements compose.

An override is a subclass: it replaces methods of its base class, and reaches what it replaces through `super()`. It
also applies to the classes that derive from its base. Code that is to be overridden asks for the class that it makes
an object of: `overrides.of(Consumer)(...)`. Without overrides that is the class itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import new_class
from typing import TypeVar

T = TypeVar("T")


class Overrides:
    """`lateness_ms` replaces how far each override of a time bound misses it."""

    def __init__(self, overrides: Iterable[type] = (), lateness_ms: int | None = None) -> None:
        self.lateness_ms = lateness_ms
        self._overrides = tuple(overrides)
        self._composed: dict[type, type] = {}

    def of(self, honest: type[T]) -> type[T]:
        """Return `honest`, or its subclass with all overrides of it and of its bases, the first one outermost."""
        if not self._overrides:
            return honest
        if honest not in self._composed:
            self._composed[honest] = self._compose(honest)
        return self._composed[honest]

    def and_of(self, others: Overrides) -> Overrides:
        """Return these overrides and the others, the others outermost."""
        return Overrides((*self._overrides, *others._overrides), self.lateness_ms) if others._overrides else self

    def _compose(self, honest: type) -> type:
        fitting = [override for override in self._overrides if issubclass(honest, override.__bases__[0])]
        return new_class(honest.__name__, (*fitting, honest)) if fitting else honest


HONEST = Overrides()
