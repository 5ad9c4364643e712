"""What is pending at an event: units of producers without an answer, and calls that have not ended."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TypeVar

from assay_conformance.checks.tracker import Tracker
from assay_conformance.history.events import Events
from assay_conformance.judging.intervals import Interval, Intervals
from assay_conformance.model.event import Event, Frame, Invoke
from assay_conformance.pulsar.timeline.producers import Producer, Send, Unit

T = TypeVar("T")


class Pending:
    """By producer or handle, derived when first used."""

    def __init__(self, tracker: Tracker, events: Events) -> None:
        self._tracker, self._events = tracker, events
        self._calls: dict[tuple[int | None, str], Intervals[Invoke]] = {}
        self._units: dict[tuple[str, int], Intervals[Unit]] = {}
        self._sends: dict[int, Intervals[Send]] = {}
        self._answers: dict[int, Sequence[Event]] = {}

    def unanswered(self, producer: Producer, at: Event) -> Iterator[Unit]:
        """Yield the units that had left by an event, and had neither receipt nor error."""
        return self._until("answer", producer, _first_answer).at(at.seq)

    def unreceipted(self, producer: Producer, at: Event) -> Iterator[Unit]:
        """Yield the units that had left, and had no receipt."""
        return self._until("receipt", producer, lambda unit: next(iter(unit.receipts), None)).at(at.seq)

    def open(self, producer: Producer, at: Event) -> Iterator[Unit]:
        """Yield the units that had left, and had no answer, and of which no send had ended."""
        return self._until("end", producer, self._first_end).at(at.seq)

    def sends(self, handle: int | None, at: Event) -> Iterator[Send]:
        """Yield the sends that the application had made, and that had not ended."""
        handle = -1 if handle is None else handle
        if handle not in self._sends:
            sends = self._tracker.sends.get(handle, ())
            self._sends[handle] = Intervals(_from(send.invoke, send.completion, send) for send in sends)
        return self._sends[handle].at(at.seq)

    def calls(self, handle: int | None, verb: str, at: Event) -> list[Invoke]:
        """Return the calls of a verb that the application had made on a handle, and that had not ended."""
        found = self._calls.get((handle, verb))
        if found is None:
            operations = (self._tracker.operations[call.op] for call in self._events.invokes_of(handle, verb))
            intervals = (_from(one.invoke, one.completion, one.invoke) for one in operations)
            found = self._calls[handle, verb] = Intervals(intervals)
        return [*found.at(at.seq)]

    def was_unanswered(self, producer: Producer, at: Event, read_by_ns: int) -> bool:
        """Return whether it had a unit at an event without an answer that the client had read by a time."""
        if any(True for _ in self.unanswered(producer, at)):
            return True
        if id(producer) not in self._answers:
            self._answers[id(producer)] = _in_order(_first_answer(unit) for unit in producer.units)
        answers = self._answers[id(producer)]
        place = bisect_left(answers, at.seq, key=_seq)
        return place > 0 and answers[place - 1].t_ns > read_by_ns

    def _until(self, what: str, producer: Producer, over: Callable[[Unit], Event | None]) -> Intervals[Unit]:
        found = self._units.get((what, id(producer)))
        if found is None:
            intervals = (_from(unit.first, over(unit), unit) for unit in producer.units)
            found = self._units[what, id(producer)] = Intervals(intervals)
        return found

    def _first_end(self, unit: Unit) -> Event | None:
        handle, answer = unit.line.handle, _first_answer(unit)
        sends = () if handle is None else (self._tracker.send_of(handle, number) for number in unit.numbers)
        ends = _in_order((answer, *(None if send is None else send.completion for send in sends)))
        return next(iter(ends), None)


def _from(began: Event, over: Event | None, thing: T) -> Interval[T]:
    """Return the interval after the event with which it began."""
    return Interval(began.seq + 1, None if over is None else over.seq, thing)


def _first_answer(unit: Unit) -> Frame | None:
    return min(unit.answers, key=_seq, default=None)


def _in_order(events: Iterable[Event | None]) -> list[Event]:
    return sorted((one for one in events if one is not None), key=_seq)


_seq = attrgetter("seq")
