"""dedup.accepts-retry-of-failed-write"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Frame, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, deduplicated
from assay_conformance.pulsar.checks.dedup._names import checked_later, effective_highest_id, highest_id
from assay_conformance.pulsar.checks.dedup._retries import is_taken_for_copy


@dataclass(slots=True, eq=False)
class _Write:
    """A SEND at the broker. `clean`: nothing with its id or a later one was stored or pending when it arrived.
    `failed`: the earlier SEND with its id whose write failed and the SEND_ERROR, where this one must be stored because
    of that."""

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
    pending: dict[int, _Write] = field(default_factory=dict)
    """By the number of the SEND's event, since a frame that a fault duplicates arrives twice under one id."""
    failures: dict[int, tuple[Frame, Frame]] = field(default_factory=dict)
    """Sequence id -> a SEND whose write failed, and its SEND_ERROR."""

    def is_clean(self, id: int) -> bool:
        if id > self.arrived:
            return True
        return id > self.stored and all(id > write.highest for write in self.pending.values())


class AcceptsRetryOfFailedWrite(Check):
    """A clean SEND that was answered by SEND_ERROR PersistenceError was not written, and its retry is stored.

    A retry is judged where it is clean, too, and not when it fails again: the store may be down for long. SENDs that
    arrive after the broker's CLOSE_PRODUCER are ignored; those of a connection that was lost may still be written.
    """

    requirement = RequirementId("dedup.accepts-retry-of-failed-write")
    needs = ((Frame, "SEND_ERROR"),)

    def start(self) -> None:
        self._topics = deduplicated(self.view)
        self._names: dict[tuple[str, str], _Name] = {}
        self._waiting: dict[tuple[int, int], dict[int, list[_Write]]] = {}
        self._closed_producers: set[tuple[int, int]] = set()

    def concerned(self) -> bool:
        return bool(self._topics)

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        if event.to_receiver and event.producer_id is not None:
            self._closed_producers.discard((event.conn, event.producer_id))
            self._waiting.pop((event.conn, event.producer_id), None)

    @on(Frame, "CLOSE_PRODUCER")
    def closed_by_broker(self, event: Frame) -> None:
        if event.at_broker and event.producer_id is not None:
            self._closed_producers.add((event.conn, event.producer_id))

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if not event.to_receiver or event.intact is False or session is None or session.name is None:
            return
        place = (event.conn, session.producer_id)
        if base_topic(session.topic) not in self._topics or place in self._closed_producers:
            return
        name = self._names.setdefault((session.topic, session.name), _Name())
        id = event.sequence_id or 0
        clean = not checked_later(event.meta) and name.is_clean(id)
        write = _Write(event, name, max(id, effective_highest_id(event)), clean)
        write.failed = name.failures.pop(id, None) if clean else None
        if not checked_later(event.meta):
            name.pending[event.seq] = write
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
        # A duplicate is answered without the store, before the first SEND with its id, which waits for the store.
        write = writes.pop(-1 if is_taken_for_copy(event) else 0)
        write.name.pending.pop(write.send.seq, None)
        refused = event.command == "SEND_ERROR" and event.fields.get("error") == "PersistenceError"
        if event.command == "SEND_RECEIPT" and not is_duplicate(event):
            self._written(write.name, write.highest)
        if write.failed is not None:
            self._judge(write, event)
        if refused and write.clean:
            write.name.failures[event.sequence_id or 0] = (write.send, event)

    def _written(self, name: _Name, highest: int) -> None:
        name.stored = max(name.stored, highest)
        while name.pending and (first := next(iter(name.pending.values()))).highest <= highest:
            del name.pending[first.send.seq]

    def _judge(self, write: _Write, event: Frame) -> None:
        assert write.failed is not None
        send, error = write.failed
        if not is_taken_for_copy(event):
            if event.command == "SEND_RECEIPT":
                self.exercise(event)
            return
        got = "the receipt of a duplicate" if is_duplicate(event) else "an error that calls it a possible duplicate"
        self.breach(
            "retry-not-taken",
            f"the SEND with sequence id {event.sequence_id} at {ms(send.t_ns)} was not written (SEND_ERROR at "
            f"{ms(error.t_ns)}); it arrived again at {ms(write.send.t_ns)}, and nothing with its id or a later one was "
            f"stored or pending; expected it to be stored; at {ms(event.t_ns)} it got {got}",
            error,
            write.send,
            event,
        )
