"""Duplicates: how a SEND that reaches the broker compares with what is stored under its producer name.

What is stored is known from the entry or from a receipt with its id, whichever is seen first. How often something is
stored is counted at the end, since an entry may be recorded later than it was written.

Chunks before the last are stored without a check, and raw entries that a Case puts into a topic are not SENDs. A name
is not judged once it was unused for so long that a broker may forget it, nor, after a load of its topic, when more
names are known than a snapshot may hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.history.events import in_order
from assay_conformance.model.event import Frame, Stored
from assay_conformance.pulsar.checks.dedup._deduplication import Name, deduplicated, name_of, named_session
from assay_conformance.pulsar.checks.dedup._last_ids import LastId, last_ids
from assay_conformance.pulsar.timeline import MS, Exercised, Publish, Says, Timeline, breach, each, ms


class Copied(Enum):
    """What makes a SEND a duplicate."""

    AGAIN = "its id is not above the first id of what is stored"
    INSIDE = "its id is above the first id of a stored batch, and not above its last"
    STRADDLING = "it begins with ids that are stored, and ends with ids that are not"
    LOADED = "what is stored was stored before the topic was loaded again"


class Record(NamedTuple):
    """What was stored last under a name: its ids, the event that shows it, and the load of the topic it belongs to."""

    lowest: int
    highest: int
    event: Frame | Stored
    loads: int


@dataclass(slots=True, eq=False)
class SameBytes:
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

    publish: Publish
    unit: SameBytes
    copied: Copied | None = None
    record: Record | None = None


class Copies:
    """All of the attempt. `survivors`: last ids that brokers named, with what was stored before their topic was loaded
    again."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        settings = timeline.topology.settings
        self._idle_ns, self._names = settings.dedup_idle_minutes * 60_000 * MS, settings.dedup_max_producers
        self.arrivals: dict[Publish, Arrival] = {}
        self.survivors: list[tuple[LastId, Record]] = []
        self.units: dict[tuple[str, int], SameBytes] = {}
        self._records: dict[Name, Record] = {}
        self._topics = deduplicated(timeline.view)
        if self._topics:
            self._walk()

    def _walk(self) -> None:
        events, publishes = self._timeline.events, self._timeline.publishes
        named = {one.event.seq: one for one in last_ids(self._timeline)}
        frames = events.frames("SEND", "SEND_RECEIPT", "PRODUCER_SUCCESS")
        moments: list[Frame | Stored] = [*frames, *events.of(Stored)]
        for moment in in_order(moments):
            if isinstance(moment, Stored):
                self._stored(moment)
            elif moment.seq in named:
                self._named(named[moment.seq])
            elif (publish := publishes.of(moment)) is not None:
                if moment is publish.send:
                    self._send(publish)
                else:
                    self._receipted(publish, moment)

    def _send(self, publish: Publish) -> None:
        send = publish.send
        session = named_session(self._timeline, send, self._topics)
        if session is None or send.unit is None or publish.is_early_chunk or not publish.is_intact:
            return
        name = name_of(session)
        unit = self.units.setdefault((name[0], send.unit), SameBytes(name, publish.id, publish.highest_id))
        arrival = self.arrivals[publish] = Arrival(publish, unit)
        record = self._records.get(name)
        if record is None or publish.id > record.highest or self._may_be_forgotten(name, record, send):
            unit.new += 1
            return
        arrival.record = record
        if record.loads != self._timeline.loads(name[0], send):
            arrival.copied = Copied.LOADED
        elif publish.highest_id > record.highest:
            arrival.copied = Copied.STRADDLING
        else:
            arrival.copied = Copied.INSIDE if publish.id > record.lowest else Copied.AGAIN
        unit.copies.append(arrival)

    def _may_be_forgotten(self, name: Name, record: Record, at: Frame) -> bool:
        """Return whether the broker may have forgotten the name: unused for too long, or one of too many."""
        if at.t_ns - record.event.t_ns > self._idle_ns:
            return True
        loaded = len(self._records) > self._names and record.loads != self._timeline.loads(name[0], at)
        return loaded and sum(topic == name[0] for topic, _ in self._records) > self._names

    def _stored(self, stored: Stored) -> None:
        unit = self.units.get((stored.topic, stored.unit))
        if unit is not None and not stored.meta.is_early_chunk:
            unit.stored.append(stored)
            self._persisted(unit, stored, max(unit.highest, stored.meta.highest_id))

    def _receipted(self, publish: Publish, receipt: Frame) -> None:
        arrival = self.arrivals.get(publish)
        if arrival is not None and arrival.copied is None and not is_duplicate(receipt):
            self._persisted(arrival.unit, receipt, arrival.unit.highest)

    def _persisted(self, unit: SameBytes, event: Frame | Stored, highest: int) -> None:
        record = self._records.get(unit.name)
        if record is None or highest > record.highest:
            loads = self._timeline.loads(unit.name[0], event)
            self._records[unit.name] = Record(unit.lowest, highest, event, loads)

    def _named(self, last_id: LastId) -> None:
        record = self._records.get(last_id.name)
        if record is None or record.loads == self._timeline.loads(last_id.name[0], last_id.event):
            return
        if not self._may_be_forgotten(last_id.name, record, last_id.event):
            self.survivors.append((last_id, record))


def duplicates_of(timeline: Timeline, *kinds: Copied) -> Says:
    """Judge duplicates of these kinds: they are not stored, and are answered by a receipt without an id."""
    copies = timeline.once(Copies)
    yield from each((copy for copy in copies.arrivals.values() if copy.copied in kinds), _judge_answered)
    yield from each(copies.units.values(), _judge_stored_once, kinds)


def _judge_answered(copy: Arrival) -> Says:
    send, answer = copy.publish.send, copy.publish.likely_answer
    if answer is None:
        return
    if answer.command == "SEND_RECEIPT" and is_duplicate(answer):
        yield Exercised(answer)
        return
    got = f"error {answer.fields.get('error')}" if answer.command == "SEND_ERROR" else "the id of a new entry"
    yield breach(
        "wrong-answer",
        f"the SEND with sequence id {answer.sequence_id} that reached the broker at {ms(send.t_ns)} was a "
        f"duplicate; expected a receipt without an id; the answer at {ms(answer.t_ns)} carries {got}",
        *(send, answer),
    )


def _judge_stored_once(kinds: tuple[Copied, ...], unit: SameBytes) -> Says:
    copy = next((copy for copy in unit.copies if copy.copied in kinds), None)
    if copy is None or copy.record is None or len(unit.stored) <= unit.new:
        return
    (topic, name), stored = unit.name, unit.stored[-1]
    yield breach(
        "duplicate-stored",
        f"topic {topic} had stored producer {name} up to sequence id {copy.record.highest}; expected the SEND with "
        f"sequence ids {unit.lowest} to {unit.highest} at {ms(copy.publish.send.t_ns)} not to be stored; it was, as "
        f"{stored.id.name}",
        *(copy.record.event, copy.publish.send, stored),
    )
