"""The events of a history by what they are: what a relation is derived from, without a walk through all of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from assay_conformance.model.event import Completion, Event, Frame, Invoke

E = TypeVar("E", bound=Event)
C = TypeVar("C", Invoke, Completion)
K = TypeVar("K")
T = TypeVar("T")

OPENS: Final = ("open_producer", "open_consumer")
"""Verbs that open what a client writes PRODUCER and SUBSCRIBE for."""


class Events:
    """Grouped by type, and by command or verb, in order."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._by_type: dict[type, list[Event]] = {}
        for event in events:
            kind = type(event)
            found = self._by_type.get(kind)
            if found is None:
                found = self._by_type[kind] = []
            found.append(event)
        self._frames = _by_word(self.of(Frame), "command")
        self._merged: dict[tuple[str, ...], Sequence[Frame]] = {}
        self._by: dict[tuple[str, ...], Mapping[Any, Sequence[Frame]]] = {}
        """Command and attributes -> frames by their values."""
        self._invokes: dict[str, list[Invoke]] | None = None
        self._completions: dict[str, list[Completion]] | None = None
        self._invokes_of: dict[tuple[str, ...], dict[int | None, list[Invoke]]] = {}
        self._completions_of: dict[tuple[str, ...], dict[int | None, list[Completion]]] = {}

    def of(self, kind: type[E]) -> Sequence[E]:
        """Return all events of a type."""
        return self._by_type.get(kind, ())  # type: ignore[return-value]

    def frames(self, *commands: str) -> Sequence[Frame]:
        """Return all frames of these commands, in order; of all commands without any."""
        if len(commands) == 1:
            return self._frames.get(commands[0], ())
        if not commands:
            return self.of(Frame)
        found = self._merged.get(commands)
        if found is None:
            several = (frame for command in commands for frame in self._frames.get(command, ()))
            found = self._merged[commands] = in_order(several)
        return found

    def frames_on(self, conn: int, *commands: str) -> Sequence[Frame]:
        """Return the frames of these commands on a connection, in order.

        What each session is asked is looked up by this: a history may have any number of connections.
        """
        found = [self.frames_by(command, "conn").get(conn, ()) for command in commands]
        return found[0] if len(found) == 1 else in_order(frame for one in found for frame in one)

    def frames_by(self, command: str, *attributes: str) -> Mapping[Any, Sequence[Frame]]:
        """Return the frames of a command by the value of an attribute, or by the values of several.

        What belongs to each of many connections, producers or requests is looked up by this.
        """
        found = self._by.get((command, *attributes))
        if found is None:
            found = self._by[command, *attributes] = _by_word(self._frames.get(command, ()), *attributes)
        return found

    def invokes(self, *verbs: str) -> Sequence[Invoke]:
        """Return all calls of these verbs, in order."""
        if self._invokes is None:
            self._invokes = _by_word(self.of(Invoke), "verb")
        return _of_verbs(self._invokes, verbs)

    def completions(self, *verbs: str) -> Sequence[Completion]:
        """Return all ends of calls of these verbs, in order."""
        if self._completions is None:
            self._completions = _by_word(self.of(Completion), "verb")
        return _of_verbs(self._completions, verbs)

    def invokes_of(self, handle: int | None, *verbs: str) -> Sequence[Invoke]:
        """Return the calls of these verbs on one object of the application, in order."""
        return _by_handle(self._invokes_of, verbs, self.invokes).get(handle, ())

    def completions_of(self, handle: int | None, *verbs: str) -> Sequence[Completion]:
        """Return the ends of calls of these verbs on one object of the application, in order."""
        return _by_handle(self._completions_of, verbs, self.completions).get(handle, ())


def _by_handle(
    known: dict[tuple[str, ...], dict[int | None, list[C]]],
    verbs: tuple[str, ...],
    of_verbs: Callable[..., Sequence[C]],
) -> dict[int | None, list[C]]:
    found = known.get(verbs)
    if found is None:
        found = known[verbs] = grouped(of_verbs(*verbs), lambda one: one.handle)
    return found


def _of_verbs(known: Mapping[str, list[C]], verbs: tuple[str, ...]) -> Sequence[C]:
    found = [known.get(verb, []) for verb in verbs]
    return found[0] if len(found) == 1 else in_order(one for those in found for one in those)


class Stretch(Generic[E]):
    """Events of a list from one place to before another. The list is not copied: what has many interruptions, sessions
    or calls needs as many stretches of it."""

    def __init__(self, events: Sequence[E], since: int, until: int) -> None:
        self._events, self._places = events, range(since, until)

    @property
    def first(self) -> E | None:
        """The first of them, None where there is none."""
        return self[0] if self._places else None

    @property
    def last(self) -> E | None:
        """The last of them, None where there is none."""
        return self[-1] if self._places else None

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place: int) -> E:
        return self._events[self._places[place]]

    def __iter__(self) -> Iterator[E]:
        return (self._events[place] for place in self._places)

    def __reversed__(self) -> Iterator[E]:
        return (self._events[place] for place in reversed(self._places))


def between(events: Sequence[E], since: Event | None, until: Event | None) -> Stretch[E]:
    """Return the part of an ordered list that is after one event and before another.

    None is before all events, or after them.
    """
    begin = 0 if since is None else bisect_right(events, since.seq, key=_seq)
    end = len(events) if until is None else bisect_left(events, until.seq, key=_seq)
    return Stretch(events, begin, end)


def after(events: Sequence[E], event: Event) -> Iterator[E]:
    """Return an iterator over the part of an ordered list that is after an event."""
    return iter(between(events, event, None))


def in_order(events: Iterable[E]) -> list[E]:
    """Return events in the order in which they came."""
    return sorted(events, key=_seq)


def first_of(*events: E | None) -> E | None:
    """Return the event that came first; those that are None never came."""
    came = (event for event in events if event is not None)
    return min(came, key=_seq, default=None)


def grouped(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return things by what they have in common, those of each group in order."""
    found: dict[K, list[T]] = {}
    for thing in things:
        found.setdefault(key(thing), []).append(thing)
    return found


def _seq(event: Event) -> int:
    return event.seq


def _by_word(events: Iterable[E], *attributes: str) -> dict[Any, list[E]]:
    return grouped(events, attrgetter(*attributes))
