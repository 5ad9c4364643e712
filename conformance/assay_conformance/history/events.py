"""The events of a history by what they are: what a relation is derived from, without a walk through all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from assay_conformance.model.event import Completion, Event, Frame, Invoke

E = TypeVar("E", bound=Event)


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
        self._on: dict[str, dict[int, list[Frame]]] = {}
        """Command -> connection -> frames."""
        self._invokes: dict[str, list[Invoke]] | None = None
        self._completions: dict[str, list[Completion]] | None = None

    def of(self, kind: type[E]) -> Sequence[E]:
        """All events of a type."""
        return self._by_type.get(kind, ())  # type: ignore[return-value]

    def frames(self, *commands: str) -> Sequence[Frame]:
        """All frames of these commands, in order; of all commands without any."""
        if len(commands) == 1:
            return self._frames.get(commands[0], ())
        if not commands:
            return self.of(Frame)
        found = self._merged.get(commands)
        if found is None:
            several = (frame for command in commands for frame in self._frames.get(command, ()))
            found = self._merged[commands] = sorted(several, key=_seq)
        return found

    def frames_on(self, conn: int, *commands: str) -> Sequence[Frame]:
        """The frames of these commands on a connection, in order: what is asked of each session is looked up by this,
        for a history has as many connections as it likes."""
        found = [self._by_conn(command).get(conn, ()) for command in commands]
        return found[0] if len(found) == 1 else sorted((frame for one in found for frame in one), key=_seq)

    def _by_conn(self, command: str) -> Mapping[int, Sequence[Frame]]:
        if command not in self._on:
            self._on[command] = _by_word(self._frames.get(command, ()), "conn")
        return self._on[command]

    def invokes(self, verb: str) -> Sequence[Invoke]:
        """All calls of a verb."""
        if self._invokes is None:
            self._invokes = _by_word(self.of(Invoke), "verb")
        return self._invokes.get(verb, ())

    def completions(self, verb: str) -> Sequence[Completion]:
        """All ends of calls of a verb."""
        if self._completions is None:
            self._completions = _by_word(self.of(Completion), "verb")
        return self._completions.get(verb, ())


def _seq(event: Event) -> int:
    return event.seq


def _by_word(events: Iterable[E], attribute: str) -> dict[Any, list[E]]:
    found: dict[Any, list[E]] = {}
    for event in events:
        found.setdefault(getattr(event, attribute), []).append(event)
    return found
