"""Deduplication, the broker's half: what it remembers of a producer name, what it stores, and what it answers.

Two numbers a name: the highest sequence id that has arrived (`pushed`), and the highest that is stored (`persisted`). A
SEND at or below the second is a duplicate (`duplicate-not-stored`), one between the two cannot be judged yet
(`undecided-copy-is-refused`), and a new producer of that name is told the first (`tells-last-id`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.dedup import NO_SEQUENCE_ID, deduplicated
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Fate, Frame, Stored
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId


class DuplicateNotStored(Check):
    """A SEND that reaches the broker with an id at or below the highest stored one of its name is a duplicate.

    Chunks before the last are stored unchecked, and raw entries that a Case puts into a topic are no SENDs.
    """

    requirement = RequirementId("dedup.duplicate-not-stored")

    def start(self) -> None:
        self._topics = deduplicated(self.view)
        self._units: dict[tuple[str, int], Frame] = {}
        """(topic, checksum) of every SEND that reached the broker -> the SEND."""
        self._highest: dict[tuple[str, str], Stored] = {}
        self._duplicates: dict[tuple[str, int], Frame] = {}
        self._answers: dict[tuple[int, int, int], list[Frame | None]] = {}
        """(connection, producer, sequence id) -> outstanding SENDs: None for a new one, else the duplicate."""

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        """What reached the broker between two lives of a producer is not answered any more."""
        if event.to_receiver and event.producer_id is not None:
            for key in [key for key in self._answers if key[:2] == (event.conn, event.producer_id)]:
                del self._answers[key]

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        if not self._topics or not event.to_receiver or event.unit is None:
            return
        if event.intact is False:
            return  # Refused for its checksum, before anybody asks for its id.
        session = self.tracker.producer_of(event)
        if session is None or session.topic.partition("-partition-")[0] not in self._topics or session.name is None:
            return
        key = (event.conn, session.producer_id, event.sequence_id or 0)
        if _checked_later(event.meta):
            self._answers.setdefault(key, []).append(None)
            return
        stored = self._highest.get((session.topic, session.name))
        duplicate = stored is not None and (event.sequence_id or 0) <= _highest_id(stored)
        self._units[session.topic, event.unit] = event
        if duplicate:
            self._duplicates[session.topic, event.unit] = event
        self._answers.setdefault(key, []).append(event if duplicate else None)

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if not self._topics or _checked_later(event.meta) or (event.topic, event.unit) not in self._units:
            return
        name = (event.topic, event.meta.producer_name)
        before = self._highest.get(name)
        duplicate = self._duplicates.pop((event.topic, event.unit), None)
        if duplicate is not None and before is not None:
            self.breach(
                "duplicate-stored",
                f"topic {event.topic} holds up to sequence id {_highest_id(before)} of producer {name[1]}, and yet the "
                f"SEND with sequence id {duplicate.sequence_id} at {ms(duplicate.t_ns)} was stored once more as "
                f"{event.id.ledger}:{event.id.entry} at {ms(event.t_ns)}",
                before,
                duplicate,
                event,
            )
        if before is None or _highest_id(event) > _highest_id(before):
            self._highest[name] = event

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR")
    def answer(self, event: Frame) -> None:
        if not self._answers or not event.from_sender or event.producer_id is None:
            return
        outstanding = self._answers.get((event.conn, event.producer_id, event.sequence_id or 0))
        if not outstanding:
            return
        duplicates = [send for send in outstanding if send is not None]
        if event.command == "SEND_RECEIPT" and is_duplicate(event):
            if duplicates:
                outstanding.remove(duplicates[0])
                self.exercise(event)
            else:
                outstanding.pop(0)
        elif None in outstanding:
            outstanding.remove(None)
        else:
            send = duplicates[0]
            outstanding.remove(send)
            got = f"error {event.fields.get('error')}" if event.command == "SEND_ERROR" else "the id of a new entry"
            self.breach(
                "wrong-answer",
                f"the SEND with sequence id {event.sequence_id} at {ms(send.t_ns)} was a duplicate; its answer at "
                f"{ms(event.t_ns)} should be a receipt without an id, and carries {got}",
                send,
                event,
            )


def _checked_later(meta: object) -> bool:
    """A chunk that is not the last of its message: only the last is checked and remembered."""
    chunk_id, chunks = getattr(meta, "chunk_id", None), getattr(meta, "chunks", None)
    return chunk_id is not None and chunks is not None and chunk_id != chunks - 1


def _highest_id(event: Stored) -> int:
    return max(event.meta.sequence_id, event.meta.highest_sequence_id)


@dataclass(slots=True)
class _Name:
    """What has arrived under one producer name on one topic."""

    arrived: int = NO_SEQUENCE_ID
    stored: int = NO_SEQUENCE_ID
    waiting: list[Frame] = field(default_factory=list)
    """SENDs neither stored nor refused yet."""


class UndecidedCopyIsRefused(Check):
    """A copy of a SEND that has arrived and is not stored yet is answered by SEND_ERROR PersistenceError.

    Judged are messages sent alone. An answer that comes when the first one is stored is as good as any.
    """

    requirement = RequirementId("dedup.undecided-copy-is-refused")

    def start(self) -> None:
        self._topics = deduplicated(self.view)
        self._names: dict[tuple[str, str], _Name] = {}
        self._copies: dict[tuple[int, int, int], tuple[_Name, Frame, Frame]] = {}
        """(connection, producer, sequence id) -> whose it is, the SEND that is not stored yet, and its copy."""

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        """What reached the broker between two lives of a producer is not answered any more."""
        for key in [key for key in self._copies if key[:2] == (event.conn, event.producer_id)]:
            del self._copies[key]

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if not self._topics or not event.to_receiver or session is None or session.name is None:
            return
        alone = event.meta is not None and event.meta.batch is None and event.meta.chunk_id is None
        if session.topic.partition("-partition-")[0] not in self._topics or not alone or event.intact is False:
            return
        name = self._names.setdefault((session.topic, session.name), _Name())
        id = event.sequence_id or 0
        first = next((send for send in name.waiting if id <= (send.sequence_id or 0)), None)
        if first is not None and id > name.stored:
            self._copies[event.conn, session.producer_id, id] = (name, first, event)
        else:
            name.waiting.append(event)

    @on(Stored)
    def stored(self, event: Stored) -> None:
        name = self._names.get((event.topic, event.meta.producer_name))
        if name is not None:
            name.stored = max(name.stored, _highest_id(event))
            name.waiting = [send for send in name.waiting if (send.sequence_id or 0) > name.stored]

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR")
    def answer(self, event: Frame) -> None:
        if not event.from_sender or event.producer_id is None:
            return
        copied = self._copies.pop((event.conn, event.producer_id, event.sequence_id or 0), None)
        if event.command == "SEND_ERROR":
            if copied is None:
                self._settled(event)
            elif event.fields.get("error") == "PersistenceError":
                self.exercise(event)
            return
        if copied is None:
            self._receipted(event)
            return
        if (event.sequence_id or 0) <= copied[0].stored:
            return
        _, first, copy = copied
        self.breach(
            "receipted-undecided",
            f"sequence id {event.sequence_id} arrived at {ms(first.t_ns)} and again at {ms(copy.t_ns)}; before it was "
            f"stored the copy got a receipt at {ms(event.t_ns)}, where SEND_ERROR PersistenceError was expected",
            first,
            copy,
            event,
        )

    def _receipted(self, event: Frame) -> None:
        """Whatever became of it, the broker takes it for stored."""
        for name in self._names.values():
            if any(_answers(event, send) for send in name.waiting):
                name.stored = max(name.stored, event.sequence_id or 0)
        self._settled(event)

    def _settled(self, event: Frame) -> None:
        """A SEND that was answered keeps nobody waiting."""
        for name in self._names.values():
            name.waiting = [send for send in name.waiting if not _answers(event, send)]


def _answers(answer: Frame, send: Frame) -> bool:
    place = (send.conn, send.producer_id, send.sequence_id)
    return place == (answer.conn, answer.producer_id, answer.sequence_id)


class TellsLastId(Check):
    """PRODUCER_SUCCESS carries the highest id that has arrived under the name, and -1 without deduplication.

    At least what is stored has arrived; at most what was sent has: between the two lies what a broker refused.
    """

    requirement = RequirementId("dedup.tells-last-id")

    def start(self) -> None:
        steps = [step for step in self.view.case.steps if step.verb in ("store_entries", "set_policy")]
        changed = {step.args.get("topic") for step in steps}
        self._on = deduplicated(self.view) - changed
        self._off = {topic.name for topic in self.view.case.topology.topics if not topic.deduplication} - changed
        self._names: dict[tuple[str, str], _Name] = {}
        self._asked: dict[tuple[int, int], str] = {}
        self._there: set[tuple[int, int]] = set()
        """Producers on a connection: what is asked for again is answered as it was, without an id."""

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        place = (event.conn, event.producer_id or 0)
        if event.to_receiver and place not in self._there and event.fate is not Fate.DUPLICATED:
            self._asked[event.conn, event.request_id or 0] = self.tracker.local_topic(str(event.fields.get("topic")))
        if event.to_receiver:
            self._there.add(place)

    @on(Frame, "CLOSE_PRODUCER")
    def close_producer(self, event: Frame) -> None:
        if event.at_broker:
            self._there.discard((event.conn, event.producer_id or 0))

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        self._asked.pop((event.conn, event.request_id or 0), None)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if event.to_receiver and session is not None and session.name is not None:
            name = self._names.setdefault((session.topic, session.name), _Name())
            name.arrived = max(name.arrived, event.sequence_id or 0, _told_highest(event))

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if not _checked_later(event.meta):
            name = self._names.setdefault((event.topic, event.meta.producer_name), _Name())
            name.stored = max(name.stored, _highest_id(event))

    @on(Frame, "PRODUCER_SUCCESS")
    def admitted(self, event: Frame) -> None:
        forged = event.fate is Fate.INJECTED
        if event.dir is not Direction.TO_CLIENT or not event.from_sender or forged:
            return
        topic = self._asked.pop((event.conn, event.request_id or 0), None)
        base = (topic or "").partition("-partition-")[0]
        if topic is None or event.fields.get("producer_ready") is False or base not in self._on | self._off:
            return
        known = (
            self._names.get((topic, str(event.fields.get("producer_name"))), _Name()) if base in self._on else _Name()
        )
        told = int(event.fields.get("last_sequence_id", NO_SEQUENCE_ID))
        if known.stored <= told <= max(known.arrived, known.stored):
            if known.stored > NO_SEQUENCE_ID:
                self.exercise(event)
            return
        self.breach(
            "wrong-last-id",
            f"PRODUCER_SUCCESS for producer {event.fields.get('producer_name')} on topic {topic} at {ms(event.t_ns)} "
            f"says that {told} was its last sequence id; {known.stored} is stored and {known.arrived} has arrived",
            event,
        )


def _told_highest(event: Frame) -> int:
    """`highest_sequence_id` where the SEND has one; what is there for none is beyond every id of a Case."""
    highest = event.highest_sequence_id or 0
    return highest if highest < 1 << 62 else 0
