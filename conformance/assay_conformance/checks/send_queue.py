"""The SENDs of a connection that have no answer yet, in order. Answers come at the head, or out of turn: each is taken
out in constant time."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from assay_conformance.checks.lines import Unit

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True, eq=False)
class Turns(Generic[K, V]):
    """What waits under each key, first in, first out. A single value, as is usual, is held as it is. None is no
    value, and a deque none either."""

    _held: dict[K, V | deque[V]] = field(default_factory=dict)

    def add(self, key: K, value: V) -> None:
        held = self._held.get(key)
        if held is None:
            self._held[key] = value
        elif isinstance(held, deque):
            held.append(value)
        else:
            self._held[key] = deque((held, value))

    def take(self, key: K) -> V | None:
        """Return the first value of the key and remove it; None where there is none."""
        held = self._held.get(key)
        if not isinstance(held, deque):
            self._held.pop(key, None)
            return held
        first = held.popleft()
        if not held:
            del self._held[key]
        return first

    def clear(self) -> None:
        self._held.clear()


@dataclass(slots=True, eq=False)
class SendQueue:
    """A unit that was sent twice is in it twice."""

    _units: OrderedDict[int, Unit] = field(default_factory=OrderedDict)
    """Number of the SEND -> what it carried. Of a plain dict the first one is found past all that were taken out."""
    _numbers: Turns[Unit, int] = field(default_factory=lambda: Turns())
    _next: int = 0

    def append(self, unit: Unit) -> None:
        self._units[self._next] = unit
        self._numbers.add(unit, self._next)
        self._next += 1

    @property
    def head(self) -> Unit | None:
        return next(iter(self._units.values()), None)

    def take(self, unit: Unit) -> None:
        """Remove the first of a unit, if it is there."""
        if (first := self._numbers.take(unit)) is not None:
            del self._units[first]

    def clear(self) -> None:
        self._units.clear()
        self._numbers.clear()

    def __iter__(self) -> Iterator[Unit]:
        return iter(self._units.values())
