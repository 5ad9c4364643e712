"""A history that is gone through more than once: held in memory, or read anew each time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from assay_conformance.model.event import Event


class Walk(Protocol):
    """Once through a history, from its first event on."""

    def next(self, count: int | None = None) -> Iterator[Event]:
        """So many events, or all that are left. To be used up before the next call."""

    def pass_over(self, count: int) -> None:
        """Goes past so many, at little cost."""


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
        return _HeldWalk(iter(self.events))


@dataclass(frozen=True, slots=True)
class _HeldWalk:
    events: Iterator[Event]

    def next(self, count: int | None = None) -> Iterator[Event]:
        return islice(self.events, count)

    def pass_over(self, count: int) -> None:
        next(islice(self.events, count, count), None)
