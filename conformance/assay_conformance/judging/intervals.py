"""Intervals that contain an event, found without a pass over all that had ended by then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Interval(NamedTuple, Generic[T]):
    """`since` and `until`: numbers (`seq`) of the first and the last event at which it goes on, `until` None where it
    has no end."""

    since: int
    until: int | None
    thing: T


class Intervals(Generic[T]):
    """A tree over intervals: each node has the earliest begin and the latest end below it, so that whole subtrees are
    skipped. `order`: by when they begin, or by another key."""

    def __init__(self, intervals: Iterable[Interval[T]], order: Callable[[Interval[T]], Any] = attrgetter("since")):
        ordered = sorted(intervals, key=order)
        self._things = [one.thing for one in ordered]
        self._levels = [[(one.since, inf if one.until is None else one.until) for one in ordered]]
        while len(below := self._levels[-1]) > 1:
            self._levels.append([_joined(below[place : place + 2]) for place in range(0, len(below), 2)])

    def at(self, seq: int) -> Iterator[T]:
        """Yield those that contain event `seq`, in order."""
        nodes = [(len(self._levels) - 1, 0)] if self._things else []
        while nodes:
            level, place = nodes.pop()
            since, until = self._levels[level][place]
            if not since <= seq <= until:
                continue
            if level == 0:
                yield self._things[place]
                continue
            if 2 * place + 1 < len(self._levels[level - 1]):
                nodes.append((level - 1, 2 * place + 1))
            nodes.append((level - 1, 2 * place))

    def any_at(self, seq: int) -> bool:
        """Return whether any interval contains event `seq`."""
        return any(True for _ in self.at(seq))


def _joined(nodes: list[tuple[int, float]]) -> tuple[int, float]:
    return min(since for since, _ in nodes), max(until for _, until in nodes)
