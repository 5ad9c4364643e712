"""A history that is gone through more than once: held in memory, or read from the file each time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from assay_conformance.model.event import Event


@dataclass(frozen=True, slots=True)
class Walk:
    """Once through a history, from its first event on. `read` makes an event of what `left` has."""

    left: Iterator[Any]
    read: Callable[[Any], Event]

    def take(self, count: int | None = None) -> Iterator[Event]:
        """So many events, or all that are left. To be used up before the next call."""
        return map(self.read, islice(self.left, count))

    def pass_over(self, count: int) -> None:
        """Goes past so many, and reads none of them."""
        next(islice(self.left, count, count), None)


class History(ABC):
    """Its events, as often as they are asked for."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __iter__(self) -> Iterator[Event]: ...

    @abstractmethod
    def walk(self) -> Walk: ...


@dataclass(frozen=True, slots=True)
class Held(History):
    """In memory."""

    events: Sequence[Event]

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def walk(self) -> Walk:
        return Walk(iter(self.events), _as_it_is)


def _as_it_is(event: Event) -> Event:
    return event
