"""Which event goes to whom: handlers say so by a decorator, and it is looked up once an event.

    @on(Frame, "SEND", seen=LEFT)
    def send(self, event: Frame) -> None: ...

A handler costs nothing on events that it does not name. Around a fault one side may carry a frame and the other not:
a handler for what a peer wrote, or for what came to one, says so here, and is not shown the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple, TypeVar

from assay_conformance.model.event import Event, Frame, Sides

Handler = Callable[[Any], None]
Marked = TypeVar("Marked", bound=Callable[..., None])


class Seen(Enum):
    """Which sides have to have carried a frame."""

    ANYWHERE = frozenset(Sides)
    LEFT = frozenset({Sides.BOTH, Sides.SENDER})
    """Its sender's: it was written."""
    CAME = frozenset({Sides.BOTH, Sides.RECEIVER})
    """Its receiver's: it arrived, or was written towards the client."""


LEFT, CAME = Seen.LEFT, Seen.CAME


class Route(NamedTuple):
    """Events of a kind, and where `word` is given, of that command or verb, go to the method of this name."""

    kind: type
    word: str | None
    seen: Seen
    method: str


def on(kind: type, *words: str, seen: Seen = Seen.ANYWHERE) -> Callable[[Marked], Marked]:
    """Route events of `kind` to the decorated method; where words are given, Frames of these commands only, or Invokes
    and Completions of these verbs; and Frames that were `seen` there only."""

    def mark(method: Marked) -> Marked:
        routes: list[tuple[type, tuple[str, ...], Seen]] = getattr(method, "_routes", [])
        method._routes = [*routes, (kind, words, seen)]  # type: ignore[attr-defined]
        return method

    return mark


_known: dict[type, tuple[Route, ...]] = {}


def routes(listener: type) -> tuple[Route, ...]:
    """Return one route for every marked handler of a class."""
    if listener not in _known:
        _known[listener] = tuple(
            Route(kind, word, seen, name)
            for name in dir(listener)
            for kind, words, seen in getattr(getattr(listener, name), "_routes", ())
            for word in (words or (None,))
        )
    return _known[listener]


class _Words:
    """Handlers of one type of event, by command or verb: those of a word, and those of all others."""

    def __init__(self) -> None:
        self.named: dict[str, list[Handler]] = {}
        self.others: list[Handler] = []

    def add(self, word: str | None, handler: Handler) -> None:
        if word is None:
            self.others.append(handler)
        else:
            self.named.setdefault(word, []).append(handler)

    def close(self) -> tuple[dict[str, list[Handler]], list[Handler]]:
        """Return the handlers by name, and those of every event, which are called after the ones of its name."""
        return {word: handlers + self.others for word, handlers in self.named.items()}, self.others


_BOTH: Final = Sides.BOTH


class Table:
    """The handlers of all listeners; those of one after those of the one before."""

    def __init__(self, listeners: Sequence[object]) -> None:
        frames = {sides: _Words() for sides in Sides}
        events: dict[type, _Words] = {}
        for listener in listeners:
            for route in routes(type(listener)):
                handler = getattr(listener, route.method)
                if route.kind is Frame:
                    for sides in route.seen.value:
                        frames[sides].add(route.word, handler)
                else:
                    events.setdefault(route.kind, _Words()).add(route.word, handler)
        self._frames = {sides: words.close() for sides, words in frames.items()}
        self._carried = self._frames[_BOTH]
        worded = {kind: words.close() for kind, words in events.items()}
        self._verbs = {kind: words for kind, words in worded.items() if words[0]}
        self._plain = {kind: others for kind, (named, others) in worded.items() if not named}

    def of(self, event: Event) -> Sequence[Handler]:
        """Return the handlers of an event."""
        kind = type(event)
        if kind is Frame:
            # Hardly any frame is carried by one side only.
            named, others = self._carried if event.sides is _BOTH else self._frames[event.sides]  # type: ignore[union-attr]
            return named.get(event.command, others)  # type: ignore[union-attr]
        if kind in self._verbs:
            named, others = self._verbs[kind]
            return named.get(event.verb, others)  # type: ignore[union-attr]
        return self._plain.get(kind, ())
