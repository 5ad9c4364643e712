"""How each call of the application ended, and what it showed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from assay_conformance.machines.outcomes.aspects import Aspect, Kind, Value
from assay_conformance.model.event import Completion, Event, Invoke, Outcome

_COUNTS: Final = frozenset({"ok", "fail", "unknown"})
"""What a burst counts: how many of each is a matter of time, whether there are any is not."""


class Calls:
    """A call is named by its step, and by its number among those of the step."""

    def __init__(self) -> None:
        self._invoked: list[Invoke] = []
        self._ends: dict[int, Completion] = {}

    def see(self, event: Event) -> None:
        match event:
            case Invoke():
                self._invoked.append(event)
            case Completion():
                self._ends[event.op] = event

    def outcomes(self, *, lived: bool) -> Iterator[tuple[Aspect, Value]]:
        """Yield what calls came to. `lived`: the client's process did, so that a call without an end never ended."""
        places: dict[str, int] = defaultdict(int)
        sends: dict[str, set[str]] = defaultdict(set)
        for invoke in self._invoked:
            call = f"{invoke.verb} of step {invoke.step}" if invoke.step is not None else _at_the_end(invoke)
            place = f"{call}, call {places[call]}" if places[call] else call
            places[call] += 1
            end = self._ends.get(invoke.op)
            if (end is None and not lived) or (end is not None and end.outcome is Outcome.UNSUPPORTED):
                continue
            word = "never ended" if end is None else _end(end)
            if invoke.verb == "send":
                sends[f"producer {invoke.handle}"].add(word)
            yield Aspect(Kind.ENDS, place, invoke.verb), (word,)
            for name, value in _shown(end):
                yield Aspect(Kind.SHOWN, f"{place}: {name}", f"{invoke.verb}: {name}"), value
        for producer, words in sends.items():
            yield Aspect(Kind.ALL_ENDS, producer, "send"), tuple(sorted(words))


def _at_the_end(invoke: Invoke) -> str:
    return f"{invoke.verb} of handle {invoke.handle} at the end"


def _end(end: Completion) -> str:
    return end.outcome.value if end.error is None else f"{end.outcome.value} {end.error.value}"


def _shown(end: Completion | None) -> Iterator[tuple[str, Value]]:
    """Yield what is the same in every run of an honest client, as far as the client shows it."""
    if end is None or end.outcome is not Outcome.OK:
        return
    if end.count is not None:
        yield "count", (str(end.count),)
    if end.last_sequence_id is not None:
        yield "last sequence id", (str(end.last_sequence_id),)
    yield from _values(end.values)


def _values(values: Mapping[str, object]) -> Iterator[tuple[str, Value]]:
    if "available" in values:
        yield "available", (str(values["available"]),)
    if values.keys() >= _COUNTS:
        yield "ends", tuple(sorted(name for name in _COUNTS if values[name]))
