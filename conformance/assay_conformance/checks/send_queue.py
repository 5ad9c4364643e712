"""The SENDs of a connection that have no answer yet, in order. Answers come at the head, or out of turn: each is taken
out in constant time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay_conformance.checks.lines import Unit


@dataclass(slots=True, eq=False)
class SendQueue:
    """A unit that was sent twice is in it twice."""

    _units: OrderedDict[int, Unit] = field(default_factory=OrderedDict)
    """Number of the SEND -> what it carried. Of a plain dict the first one is found past all that were taken out."""
    _numbers: dict[Unit, tuple[int, ...]] = field(default_factory=dict)
    _next: int = 0

    def append(self, unit: Unit) -> None:
        self._units[self._next] = unit
        self._numbers[unit] = (*self._numbers.get(unit, ()), self._next)
        self._next += 1

    @property
    def head(self) -> Unit | None:
        return next(iter(self._units.values()), None)

    def take(self, unit: Unit) -> None:
        """The first of it, if it is there."""
        first, *others = self._numbers.pop(unit, ()) or (None,)
        if first is not None:
            del self._units[first]
        if others:
            self._numbers[unit] = tuple(others)

    def clear(self) -> None:
        self._units.clear()
        self._numbers.clear()

    def __iter__(self) -> Iterator[Unit]:
        return iter(self._units.values())
