"""What producers have in flight: messages that were sent and have no receipt, as the wire shows it. The wire shows less
than the client holds: not what waits in an open batch, or has a receipt that the client has not read. So a bound that
is seen to be exceeded is exceeded. Left out are messages whose send does not succeed, for they may have left the queue
at any time, and chunks, which have no number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from assay_conformance.checks.tracker import Tracker
from assay_conformance.model.event import Frame, Outcome
from assay_conformance.pulsar.timeline.answers import Answer
from assay_conformance.pulsar.timeline.producers import Send, Unit


class InFlight:
    """What is in flight at a moment, by producer."""

    def __init__(self) -> None:
        self.messages: Counter[tuple[int, str]] = Counter()
        """(handle, topic) -> how many."""
        self.bytes: Counter[int] = Counter()
        """Handle -> of all of them."""
        self._units: dict[int, dict[int, list[tuple[Send, str]]]] = {}

    def sends(self, handle: int, topic: str | None = None) -> Iterator[Send]:
        """Yield the sends in flight of a producer, to one topic or all, oldest first."""
        for sends in self._units.get(handle, {}).values():
            yield from (send for send, there in sends if topic in (None, there))

    def _leaves(self, handle: int, unit: Unit, sends: list[tuple[Send, str]]) -> None:
        self._units.setdefault(handle, {})[id(unit)] = sends
        self._count(handle, sends, 1)

    def _is_answered(self, handle: int, unit: Unit) -> None:
        self._count(handle, self._units.get(handle, {}).pop(id(unit), ()), -1)

    def _count(self, handle: int, sends: Iterable[tuple[Send, str]], sign: int) -> None:
        for send, topic in sends:
            self.bytes[handle] += sign * (send.invoke.size or 0)
            self.messages[handle, topic] += sign


class FirstSend(NamedTuple):
    """A unit that is sent for the first time, and what is in flight with it. The latter is valid until the next one."""

    handle: int
    unit: Unit
    frame: Frame
    in_flight: InFlight

    @property
    def pending(self) -> int:
        """Messages of its producer to its topic."""
        return self.in_flight.messages[self.handle, self.unit.line.topic]


def first_sends(tracker: Tracker, answers: Iterable[Answer], handles: Iterable[int]) -> Iterator[FirstSend]:
    """Yield every unit of these producers, in order of their first SEND."""
    handles, odd = set(handles), dict[int, int]()
    for answer in answers:
        if answer.unit is not None:
            odd.setdefault(id(answer.unit), answer.frame.seq)
    units = [(unit.line.handle, unit) for line in tracker.lines.all if line.handle in handles for unit in line.units]
    steps = [(unit.first.seq, True, handle, unit) for handle, unit in units if unit.numbers and handle is not None]
    for _, _, handle, unit in tuple(steps):
        ends = [frame.seq for frame in unit.answers]
        ends += [odd[id(unit)]] if id(unit) in odd else []
        if ends:
            steps.append((min(ends), False, handle, unit))
    now = InFlight()
    for _, leaves, handle, unit in sorted(steps, key=lambda step: step[0]):
        if leaves:
            now._leaves(handle, unit, _succeeding(tracker, handle, unit))
            yield FirstSend(handle, unit, unit.first, now)
        else:
            now._is_answered(handle, unit)


def _succeeding(tracker: Tracker, handle: int, unit: Unit) -> list[tuple[Send, str]]:
    """Return the sends in a unit that succeed in the end, and where each left to first."""
    found = []
    for number in unit.numbers:
        send, first = tracker.send_of(handle, number), tracker.lines.by_message.get((handle, number))
        if send is not None and send.outcome is Outcome.OK and first is not None:
            found.append((send, first.line.topic))
    return found
