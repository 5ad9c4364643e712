"""One recorded day as many: each on a topic of its own, by a client with handles and connections of its own.

What they come to together is a history of any size, whose days concern each other in nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from assay_conformance.model.case import Case
from assay_conformance.model.event import (
    Began,
    ClockOffset,
    Event,
    Fired,
    Healed,
    Identity,
    Load,
    Received,
    Stepped,
    Waited,
)

_OF_THE_BENCH: Final = (Stepped, Waited, Fired, Healed, Load, ClockOffset)
"""Recorded for the first day alone."""

_SHIFTED: Final = {
    **dict.fromkeys(("handle", "conn", "op"), "seqs"),
    **dict.fromkeys(("t_ns", "called_ns", "done_ns"), "ns"),
}
"""What changes from day to day, and by how much."""


def days(events: Sequence[Event], case: Case, count: int) -> tuple[Iterator[Event], Case]:
    """Return the same day on so many topics, one after the other, each with its own numbers."""
    names = [case.topology.topics[0].name, *(f"day-{number}" for number in range(1, count))]
    topics = tuple(replace(case.topology.topics[0], name=name) for name in names)
    topology = replace(case.topology, topics=topics)
    return _days(events, names), replace(case, topology=topology)


def _days(events: Sequence[Event], names: Sequence[str]) -> Iterator[Event]:
    began, ended = events[0], events[-1]
    assert isinstance(began, Began)
    ((first, full),) = began.topics.items()
    fulls = {name: full if name == first else f"{full}-{name}" for name in names}
    yield replace(began, topics=fulls)
    for number, name in enumerate(names):
        shift = Shift(number, {first: name, full: fulls[name]}, ended.seq + 1, ended.t_ns)
        yield from (shift.event(event) for event in events[1:-1] if not number or not isinstance(event, _OF_THE_BENCH))
    yield replace(ended, seq=ended.seq + len(names) * (ended.seq + 1), t_ns=ended.t_ns * len(names))


@dataclass(frozen=True, slots=True)
class Shift:
    """Makes another day of an event."""

    number: int
    names: Mapping[str, str]
    seqs: int
    ns: int

    def event(self, event: Event) -> Event:
        new: dict[str, Any] = {"seq": event.seq + self.number * self.seqs}
        for key, step in _SHIFTED.items():
            if (value := getattr(event, key, None)) is not None:
                new[key] = value + self.number * getattr(self, step)
        for key in ("args", "fields"):
            if table := getattr(event, key, None):
                new[key] = {name: self._inside(name, value) for name, value in table.items()}
        if (topic := getattr(event, "topic", None)) is not None:
            new["topic"] = self.names.get(topic, topic)
        if members := getattr(event, "members", ()):
            new["members"] = tuple(replace(one, identity=self._identity(one.identity)) for one in members)
        if isinstance(event, Received):
            new["identity"] = self._identity(event.identity)
        return replace(event, **new)

    def _inside(self, name: str, value: Any) -> Any:
        match name:
            case "client":
                return value + self.number * self.seqs
            case "topic":
                return self.names.get(value, value)
            case "topics":
                return [self.names.get(topic, topic) for topic in value]
        return value

    def _identity(self, identity: Identity | None) -> Identity | None:
        return None if identity is None else replace(identity, handle=identity.handle + self.number * self.seqs)
