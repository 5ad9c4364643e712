"""dedup.accepts-retry-of-failed-write"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Frame, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, deduplicated
from assay_conformance.pulsar.checks.dedup._names import checked_later, highest_id, told_highest
from assay_conformance.pulsar.checks.dedup._retries import is_taken_for_copy


@dataclass(slots=True, eq=False)
class _Write:
    """A SEND at the broker. `clean`: nothing of its id or a later one was stored or under way when it came. `failed`:
    the answer to the earlier SEND whose write failed, where this one has to be taken in for that."""

    send: Frame
    name: _Name
    highest: int
    clean: bool
    failed: tuple[Frame, Frame] | None = None


@dataclass(slots=True, eq=False)
class _Name:
    """One producer name on a topic."""

    stored: int = NO_SEQUENCE_ID
    arrived: int = NO_SEQUENCE_ID
    under_way: dict[int, _Write] = field(default_factory=dict)
    """By the event of the SEND: a frame that a fault repeats comes twice under one number."""
    failures: dict[int, tuple[Frame, Frame]] = field(default_factory=dict)
    """Sequence id -> a SEND whose write failed, and its SEND_ERROR."""

    def is_clean(self, id: int) -> bool:
        if id > self.arrived:
            return True
        return id > self.stored and all(id > write.highest for write in self.under_way.values())


class AcceptsRetryOfFailedWrite(Check):
    """A SEND that nothing was in the way of, and that was answered by SEND_ERROR PersistenceError, was not written.

    Its retry is judged where nothing was in the way of that either, and tells nothing when it cannot be written again:
    the store may be away for long. SENDs behind the broker's CLOSE_PRODUCER are for nobody; those of a connection that
    died may still be written.
    """

    requirement = RequirementId("dedup.accepts-retry-of-failed-write")
    needs = ((Frame, "SEND_ERROR"),)

    def start(self) -> None:
        self._topics = deduplicated(self.view)
        self._names: dict[tuple[str, str], _Name] = {}
        self._waiting: dict[tuple[int, int], dict[int, list[_Write]]] = {}
        self._away: set[tuple[int, int]] = set()

    def concerned(self) -> bool:
        return bool(self._topics)

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        if event.to_receiver and event.producer_id is not None:
            self._away.discard((event.conn, event.producer_id))
            self._waiting.pop((event.conn, event.producer_id), None)

    @on(Frame, "CLOSE_PRODUCER")
    def sent_away(self, event: Frame) -> None:
        if event.at_broker and event.producer_id is not None:
            self._away.add((event.conn, event.producer_id))

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if not event.to_receiver or event.intact is False or session is None or session.name is None:
            return
        place = (event.conn, session.producer_id)
        if base_topic(session.topic) not in self._topics or place in self._away:
            return
        name = self._names.setdefault((session.topic, session.name), _Name())
        id = event.sequence_id or 0
        clean = not checked_later(event.meta) and name.is_clean(id)
        write = _Write(event, name, max(id, told_highest(event)), clean)
        write.failed = name.failures.pop(id, None) if clean else None
        if not checked_later(event.meta):
            name.under_way[event.seq] = write
            name.arrived = max(name.arrived, write.highest)
        self._waiting.setdefault(place, {}).setdefault(id, []).append(write)

    @on(Stored)
    def stored(self, event: Stored) -> None:
        name = self._names.get((event.topic, event.meta.producer_name))
        if name is not None and not checked_later(event.meta):
            self._written(name, highest_id(event))

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR")
    def answer(self, event: Frame) -> None:
        if not event.from_sender or event.producer_id is None:
            return
        writes = self._waiting.get((event.conn, event.producer_id), {}).get(event.sequence_id or 0)
        if not writes:
            return
        # What is taken for a copy is answered without the store, past the SEND of its id that waits there.
        write = writes.pop(-1 if is_taken_for_copy(event) else 0)
        write.name.under_way.pop(write.send.seq, None)
        refused = event.command == "SEND_ERROR" and event.fields.get("error") == "PersistenceError"
        if event.command == "SEND_RECEIPT" and not is_duplicate(event):
            self._written(write.name, write.highest)
        if write.failed is not None:
            self._judge(write, event)
        if refused and write.clean:
            write.name.failures[event.sequence_id or 0] = (write.send, event)

    def _written(self, name: _Name, highest: int) -> None:
        name.stored = max(name.stored, highest)
        while name.under_way and (first := next(iter(name.under_way.values()))).highest <= highest:
            del name.under_way[first.send.seq]

    def _judge(self, write: _Write, event: Frame) -> None:
        assert write.failed is not None
        send, error = write.failed
        if not is_taken_for_copy(event):
            if event.command == "SEND_RECEIPT":
                self.exercise(event)
            return
        got = "a duplicate's receipt" if is_duplicate(event) else "that it may be a duplicate"
        self.breach(
            "retry-not-taken",
            f"the SEND with sequence id {event.sequence_id} at {ms(send.t_ns)} could not be written, as SEND_ERROR "
            f"said at {ms(error.t_ns)}; it came again at {ms(write.send.t_ns)}, nothing of its id or a later one was "
            f"stored or under way, and at {ms(event.t_ns)} it got {got}",
            error,
            write.send,
            event,
        )
