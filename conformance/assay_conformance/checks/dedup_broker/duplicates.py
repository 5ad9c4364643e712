"""A duplicate is not stored, and its answer says so."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.dedup import deduplicated
from assay_conformance.checks.dedup_broker.names import checked_later, highest_id
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Frame, Stored
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
        if checked_later(event.meta):
            self._answers.setdefault(key, []).append(None)
            return
        stored = self._highest.get((session.topic, session.name))
        duplicate = stored is not None and (event.sequence_id or 0) <= highest_id(stored)
        self._units[session.topic, event.unit] = event
        if duplicate:
            self._duplicates[session.topic, event.unit] = event
        self._answers.setdefault(key, []).append(event if duplicate else None)

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if not self._topics or checked_later(event.meta) or (event.topic, event.unit) not in self._units:
            return
        name = (event.topic, event.meta.producer_name)
        before = self._highest.get(name)
        duplicate = self._duplicates.pop((event.topic, event.unit), None)
        if duplicate is not None and before is not None:
            self.breach(
                "duplicate-stored",
                f"topic {event.topic} holds up to sequence id {highest_id(before)} of producer {name[1]}, and yet the "
                f"SEND with sequence id {duplicate.sequence_id} at {ms(duplicate.t_ns)} was stored once more as "
                f"{event.id.ledger}:{event.id.entry} at {ms(event.t_ns)}",
                before,
                duplicate,
                event,
            )
        if before is None or highest_id(event) > highest_id(before):
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
