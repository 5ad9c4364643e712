"""Duplicates: how a SEND that reaches the broker compares with what is stored under its producer name.

What is stored is known from the entry or from a receipt with its id, whichever is seen first. How often something is
stored is counted at the end, since an entry may be recorded later than it was written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.checks.loading import Loads
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.event import Fired, Frame, Stepped, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import deduplicated
from assay_conformance.pulsar.checks.dedup._names import checked_later, effective_highest_id, highest_id

_MS_PER_MINUTE = 60_000

Name = tuple[str, str]
"""Topic and producer name."""


class Copied(Enum):
    """What makes a SEND a duplicate."""

    AGAIN = "its id is not above the first id of what is stored"
    INSIDE = "its id is above the first id of a stored batch, and not above its last"
    STRADDLING = "it begins with ids that are stored, and ends with ids that are not"
    LOADED = "what is stored was stored before the topic was loaded again"


@dataclass(slots=True)
class Record:
    """What was stored last under a name: its ids, the event that shows it, and the load of the topic it belongs to."""

    lowest: int
    highest: int
    event: Frame | Stored
    loads: int


@dataclass(slots=True, eq=False)
class Unit:
    """SENDs of the same bytes. `new`: how many of them may be stored."""

    name: Name
    lowest: int
    highest: int
    new: int = 0
    copies: list[Arrival] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Arrival:
    """A SEND at the broker; a duplicate of `record` where `copied` says so."""

    send: Frame
    unit: Unit | None = None
    copied: Copied | None = None
    record: Record | None = None


class CopiesCheck(Check):
    """Judge duplicates of the given kinds: they are not stored, and are answered by a receipt without an id.

    Chunks before the last are stored without a check, and raw entries that a Case puts into a topic are not SENDs. A
    name is not judged once it was unused for so long that a broker may forget it, nor, after a load of its topic, when
    more names are known than a snapshot may hold.
    """

    kinds: ClassVar[frozenset[Copied]]

    def start(self) -> None:
        super().start()
        self._topics = deduplicated(self.view)
        settings = self.view.case.topology.settings
        self._idle_ns = settings.dedup_idle_minutes * _MS_PER_MINUTE * MS
        self._names = settings.dedup_max_producers
        self.loads = Loads(self.view.case)
        self.records: dict[Name, Record] = {}
        self._units: dict[tuple[str, int], Unit] = {}
        self._answers: dict[tuple[int, int], dict[int, list[Arrival]]] = {}
        """(connection, producer) -> sequence id -> SENDs without an answer."""

    def concerned(self) -> bool:
        return bool(self._topics)

    @on(Stepped)
    @on(Fired)
    def loaded(self, event: Stepped | Fired) -> None:
        self.loads.see(event)

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        """SENDs that reached the broker before the producer registered again are not answered any more."""
        if event.to_receiver and event.producer_id is not None:
            self._answers.pop((event.conn, event.producer_id), None)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        if not self._topics or not event.to_receiver or event.unit is None:
            return
        if event.intact is False:
            return  # Refused for its checksum, before its id is looked at.
        session = self.tracker.producer_of(event)
        if session is None or base_topic(session.topic) not in self._topics or session.name is None:
            return
        arrival = Arrival(event)
        if not checked_later(event.meta):
            self._compare(arrival, (session.topic, session.name))
        waiting = self._answers.setdefault((event.conn, session.producer_id), {})
        waiting.setdefault(event.sequence_id or 0, []).append(arrival)

    def _compare(self, arrival: Arrival, name: Name) -> None:
        send, lowest = arrival.send, arrival.send.sequence_id or 0
        highest = max(lowest, effective_highest_id(send))
        assert send.unit is not None
        unit = self._units.setdefault((name[0], send.unit), Unit(name, lowest, highest))
        arrival.unit = unit
        record = self.records.get(name)
        if record is None or lowest > record.highest or self.may_be_forgotten(name, send):
            unit.new += 1
            return
        arrival.record = record
        arrival.copied = self._kind(record, lowest, highest, self.loads.of(name[0]))
        unit.copies.append(arrival)

    def may_be_forgotten(self, name: Name, event: Frame) -> bool:
        """Whether the broker may not know the name: it was unused for too long, or one of too many names at a load."""
        record = self.records[name]
        if event.t_ns - record.event.t_ns > self._idle_ns:
            return True
        loaded = len(self.records) > self._names and record.loads != self.loads.of(name[0])
        return loaded and sum(topic == name[0] for topic, _ in self.records) > self._names

    def _kind(self, record: Record, lowest: int, highest: int, loads: int) -> Copied:
        if record.loads != loads:
            return Copied.LOADED
        if highest > record.highest:
            return Copied.STRADDLING
        return Copied.INSIDE if lowest > record.lowest else Copied.AGAIN

    @on(Stored)
    def stored(self, event: Stored) -> None:
        unit = self._units.get((event.topic, event.unit))
        if unit is None or checked_later(event.meta):
            return
        unit.stored.append(event)
        self._persisted(unit, event, max(unit.highest, highest_id(event)))

    def _persisted(self, unit: Unit, event: Frame | Stored, highest: int) -> None:
        record = self.records.get(unit.name)
        if record is None or highest > record.highest:
            self.records[unit.name] = Record(unit.lowest, highest, event, self.loads.of(unit.name[0]))

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR")
    def answer(self, event: Frame) -> None:
        if not self._answers or not event.from_sender or event.producer_id is None:
            return
        waiting = self._answers.get((event.conn, event.producer_id), {}).get(event.sequence_id or 0)
        if not waiting:
            return
        duplicate = event.command == "SEND_RECEIPT" and is_duplicate(event)
        fitting = next((arrival for arrival in waiting if (arrival.copied is not None) == duplicate), waiting[0])
        waiting.remove(fitting)
        if fitting.copied is None:
            if event.command == "SEND_RECEIPT" and not duplicate and fitting.unit is not None:
                self._persisted(fitting.unit, event, fitting.unit.highest)
        elif fitting.copied in self.kinds:
            if duplicate:
                self.exercise(event)
            else:
                self._wrong_answer(fitting, event)

    def finish(self) -> None:
        for unit in self._units.values():
            copies = [copy for copy in unit.copies if copy.copied in self.kinds]
            if copies and len(unit.stored) > unit.new:
                self._stored_again(unit, copies[0])

    def _wrong_answer(self, copy: Arrival, event: Frame) -> None:
        assert copy.record is not None
        got = f"error {event.fields.get('error')}" if event.command == "SEND_ERROR" else "the id of a new entry"
        self.breach(
            "wrong-answer",
            f"the SEND with sequence id {event.sequence_id} that reached the broker at {ms(copy.send.t_ns)} was a "
            f"duplicate; expected a receipt without an id; the answer at {ms(event.t_ns)} carries {got}",
            copy.send,
            event,
        )

    def _stored_again(self, unit: Unit, copy: Arrival) -> None:
        record, stored = copy.record, unit.stored[-1]
        assert record is not None
        self.breach(
            "duplicate-stored",
            f"topic {unit.name[0]} had stored producer {unit.name[1]} up to sequence id {record.highest}; expected the "
            f"SEND with sequence ids {unit.lowest} to {unit.highest} at {ms(copy.send.t_ns)} not to be stored; it was, "
            f"as {stored.id.name}",
            record.event,
            copy.send,
            stored,
        )
