"""What a check may report if something is not known.

A field of a relation has a value, or it is unknown for a reason. Reading an unknown field raises `UnknownError`, and
ends the subject that was being judged: it counts as not judged, with that reason. No check asks first whether it knows
enough.

    def _is_the_same(timeline: Timeline, resent: Resent) -> Iterator[Judged]:
        timeline.owner(resent.producer)     # it may be unknown: then nothing more is said of this resend

    yield from each(timeline.resent, _is_the_same, timeline)

Time bounds depend on the machine in the same way: `TooBusyError` ends the subject, and the requirement is inconclusive.

A breach that was proven without the unknown field stands, wherever in the subject that field is read; `either` and
`every` keep it so for a condition of several parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from assay_conformance.model.event import Event

S = TypeVar("S")


class UnknownError(Exception):
    """A field was read whose value is not known; `reason` says why, as a sentence that a report can print."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class TooBusyError(Exception):
    """The machine was too busy to judge a time bound; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Exercised:
    """The precondition of the clause occurred at this event, and it was judged."""

    event: Event


@dataclass(frozen=True, slots=True)
class Counted:
    """The same so many times; these events are examples, of which there may be fewer."""

    times: int
    examples: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Breach:
    """Events that contradict the clause. `sentence`: who did what, what was expected, what came, with times in ms."""

    code: str
    sentence: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A subject of which too little is known to judge it."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotDecided:
    """A subject that the machine was too busy for."""

    reason: str


Judged = Exercised | Counted | Breach | NotJudged | NotDecided
"""What a check reports of one subject."""

Says = Iterator[Judged]
"""What a check, or a part of one, yields."""


def breach(code: str, sentence: str, *events: Event | None) -> Breach:
    """Return a breach with these events as its proof; those that are None are left out."""
    return Breach(code, sentence, tuple(event for event in events if event is not None))


def each(subjects: Iterable[S], judge: Callable[..., Iterable[Judged]], *context: object) -> Iterator[Judged]:
    """Judge every subject separately, by `judge(*context, subject)`: something unknown about one does not affect the
    others.

    Of a subject that ends with something unknown or undecided its breaches stand, and nothing counts as exercised.
    """
    for subject in subjects:
        said: list[Judged] = []
        try:
            said.extend(judge(*context, subject))
        except UnknownError as unknown:
            yield from _proven(said, NotJudged(unknown.reason))
        except TooBusyError as busy:
            yield from _proven(said, NotDecided(busy.reason))
        else:
            yield from said


def _proven(said: list[Judged], otherwise: Judged) -> list[Judged]:
    proven: list[Judged] = [judged for judged in said if isinstance(judged, Breach)]
    return proven or [otherwise]


def either(*conditions: Callable[[], bool]) -> bool:
    """Return whether one of them holds; raises `UnknownError` where none is known to hold and one is not known."""
    return _settled(conditions, by=True)


def every(*conditions: Callable[[], bool]) -> bool:
    """Return whether all of them hold.

    Raises `UnknownError` where none is known not to hold and one is not known.
    """
    return _settled(conditions, by=False)


def _settled(conditions: Iterable[Callable[[], bool]], *, by: bool) -> bool:
    unknown: UnknownError | None = None
    for condition in conditions:
        try:
            if condition() is by:
                return by
        except UnknownError as error:
            unknown = unknown or error
    if unknown is not None:
        raise unknown
    return not by
