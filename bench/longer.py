"""One recorded day, made longer: what happened between two moments at which nothing was under way happens again and
again, with the numbers that follow.

What it comes to is a history of any size in one part, for its client, topic and connections are the same all day.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from assay_conformance.checks.plain.leaving_out import LEAST, Moment, plain_stretches
from assay_conformance.checks.plain.naming import Names
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.case import Case
from assay_conformance.model.event import Event, Frame, Invoke, ReadBack, Stored
from assay_conformance.model.facts import ClientFacts

_PARTS: Final = ("identity", "id", "mark_delete", "message_id", "meta")
_LISTS: Final = ("acked", "ids", "members")
_NONE: Final = 1 << 63
"""Numbers from here on, and below 0, stand for none."""


def longer(events: Sequence[Event], case: Case, facts: ClientFacts, times: int) -> Iterator[Event]:
    """The same day, a stretch of it lived so many times more. It is a day of one producer and one consumer, who send,
    receive and acknowledge each message once. ValueError where nothing comes round."""
    first, last = _round(events, case, facts)
    again = Repetition.of(events[first.place : last.place + 1])
    yield from events[: last.place]
    for time in range(1, times + 1):
        yield from (again.shifted(event, time) for event in events[first.place : last.place])
    for event in events[last.place :]:
        later = again.shifted(event, times)
        yield again.read_back(later, times) if isinstance(later, ReadBack) else later


def _round(events: Sequence[Event], case: Case, facts: ClientFacts) -> tuple[Moment, Moment]:
    """The longest stretch behind which all is as it was before."""
    stretches, _ = plain_stretches(events, case, facts, Names(case), LEAST)
    pairs = [(a, b) for moments in stretches for a in moments for b in moments if a.place < b.place and _alike(a, b)]
    if not pairs:
        raise ValueError(f"{case.id}: expected a stretch behind which all is as before it; use more messages")
    return max(pairs, key=lambda pair: pair[1].place - pair[0].place)


def _alike(first: Moment, last: Moment) -> bool:
    """The consumer stands where it stood, and the ACKs that wait are those of as many messages later."""
    steps = {what[1]: entry[1] - first.counts[what][1] for what, entry in last.counts.items() if what[0] == "entry"}
    waited = {(topic, (ledger, entry + steps[topic])) for topic, (ledger, entry) in first.waiting}
    return first.permits == last.permits and waited == last.waiting


@dataclass(frozen=True, slots=True)
class Repetition:
    """`steps`: by how much what is numbered so is higher each time."""

    steps: Mapping[str, int]

    @classmethod
    def of(cls, stretch: Sequence[Event]) -> Repetition:
        """With the event behind it."""
        began, *_, behind = stretch
        frames = [event.frame for event in stretch[:-1] if isinstance(event, Frame)]
        operations = [event.op for event in stretch[:-1] if isinstance(event, Invoke)]
        messages = sum(isinstance(event, Stored) for event in stretch[:-1])
        ns = behind.t_ns - began.t_ns
        return cls(
            {
                "seq": behind.seq - began.seq,
                **dict.fromkeys(("t_ns", "called_ns", "done_ns"), ns),
                "publish_time_ms": ns // MS,
                "frame": max(frames) - min(frames) + 1,
                "op": max(operations) - min(operations) + 1,
                **dict.fromkeys(("number", "sequence_id", "last_sequence_id", "entry", "delivery"), messages),
                "unit": 1,
            }
        )

    def shifted(self, value: Any, time: int) -> Any:
        """An event, or a part of one, as it is that time."""
        new: dict[str, Any] = {}
        for name in value.__struct_fields__:
            inner = getattr(value, name)
            if name in self.steps and isinstance(inner, int):
                new[name] = self._number(name, inner, time)
            elif name in _PARTS and inner is not None:
                new[name] = self.shifted(inner, time)
            elif name in _LISTS:
                new[name] = tuple(self.shifted(one, time) for one in inner)
            elif name in ("args", "fields"):
                new[name] = {key: self._said(key, one, time) for key, one in inner.items()}
        return replace(value, **new)

    def _said(self, key: str, value: Any, time: int) -> Any:
        if key == "messages":
            return [self._number("delivery", one, time) for one in value]
        return self._number(key, value, time) if key in self.steps and isinstance(value, int) else value

    def _number(self, name: str, value: int, time: int) -> int:
        return value + self.steps[name] * time if 0 <= value < _NONE else value

    def read_back(self, event: ReadBack, times: int) -> ReadBack:
        """Every entry of the longer day."""
        last = event.entries[-1]
        count = last.entry + self.steps["entry"] * times + 1
        return replace(event, entries=tuple(replace(last, entry=entry) for entry in range(count)))
