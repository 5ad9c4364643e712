"""Chunks of a message carry the same sequence id; only the last one is checked and remembered."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, deduplicated
from assay_conformance.pulsar.checks.dedup._names import checked_later, effective_highest_id


@dataclass(slots=True)
class _Waiting:
    """Unanswered chunks of one sequence id. `early`: chunks before the last, which must be stored; `repeated`: how many
    of them arrived when the id was stored already. `last_new`, `last_again`: last chunks, by whether their id or a
    later one had arrived before.
    """

    early: int = 0
    repeated: int = 0
    last_new: Frame | None = None
    last_again: int = 0
    first: Frame | None = None


class ChecksLastChunkOnly(Check):
    """Judged by the answers, of which that to a duplicate may overtake others: one message gets no more receipts
    without an id than duplicates of its last chunk arrived."""

    requirement = RequirementId("dedup.checks-last-chunk-only")
    needs = (Trait.CHUNK,)

    def start(self) -> None:
        self._topics = deduplicated(self.view)
        self._arrived: dict[tuple[str, str], int] = {}
        """Highest id that has arrived under a name; chunks before the last do not count."""
        self._waiting: dict[tuple[int, int], dict[int, _Waiting]] = {}

    def concerned(self) -> bool:
        return bool(self._topics)

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        """SENDs that reached the broker before the producer registered again are not answered any more."""
        if event.to_receiver and event.producer_id is not None:
            self._waiting.pop((event.conn, event.producer_id), None)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if not event.to_receiver or event.intact is False or session is None or session.name is None:
            return
        if base_topic(session.topic) not in self._topics:
            return
        name, id = (session.topic, session.name), event.sequence_id or 0
        arrived = self._arrived.get(name, NO_SEQUENCE_ID)
        if event.meta is not None and event.meta.chunk_id is not None:
            waiting = self._waiting.setdefault((event.conn, session.producer_id), {}).setdefault(id, _Waiting())
            waiting.first = waiting.first or event
            if checked_later(event.meta):
                waiting.early += 1
                waiting.repeated += id <= arrived
            elif id > arrived:
                waiting.last_new = event
            else:
                waiting.last_again += 1
        if not checked_later(event.meta):
            self._arrived[name] = max(arrived, id, effective_highest_id(event))

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR")
    def answer(self, event: Frame) -> None:
        if not self._waiting or not event.from_sender or event.producer_id is None:
            return
        waiting = self._waiting.get((event.conn, event.producer_id), {}).get(event.sequence_id or 0)
        if waiting is None:
            return
        if event.command == "SEND_ERROR" or not is_duplicate(event):
            self._stored(waiting, event)
        elif waiting.last_again:
            waiting.last_again -= 1
        elif waiting.early or waiting.last_new is not None:
            assert waiting.first is not None
            self.breach(
                "chunk-dropped",
                f"a chunk with sequence id {event.sequence_id} (first chunk at {ms(waiting.first.t_ns)}) was a chunk "
                "before the last, or the last of a message that had not arrived before; expected it to be stored; it "
                f"got the receipt of a duplicate at {ms(event.t_ns)}",
                waiting.first,
                event,
            )

    def _stored(self, waiting: _Waiting, event: Frame) -> None:
        """Take an answer to a chunk that was stored, or refused for another reason."""
        stored = event.command == "SEND_RECEIPT"
        if waiting.early:
            waiting.early -= 1
            if stored and waiting.repeated:
                waiting.repeated -= 1
                self.exercise(event)
        elif waiting.last_new is not None:
            waiting.last_new = None
            if stored:
                self.exercise(event)
