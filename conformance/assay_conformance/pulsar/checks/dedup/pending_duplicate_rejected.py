"""A copy that comes before the first one is stored."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.loading import Loads
from assay_conformance.model.event import Fired, Frame, Stepped, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import deduplicated
from assay_conformance.pulsar.checks.dedup._names import Name, highest_id, place_of


class PendingDuplicateRejected(Check):
    """A copy of a SEND that has arrived and is not stored yet is answered by SEND_ERROR PersistenceError.

    Judged are messages sent alone. An answer that comes when the first one is stored is as good as any; since when it
    is, nobody knows of an entry that the broker named late, nor since when all ids up to its highest are decided.
    """

    requirement = RequirementId("dedup.pending-duplicate-rejected")

    def start(self) -> None:
        self._loads = Loads(self.view.case)
        self._topics = deduplicated(self.view)
        self._names: dict[tuple[str, str], Name] = {}
        self._copies: dict[tuple[int, int, int], tuple[Name, Frame, Frame]] = {}
        """(connection, producer, sequence id) -> whose it is, the SEND that is not stored yet, and its copy."""
        self._receipted_early: list[tuple[Name, Frame, Frame, Frame]] = []
        """Likewise, and the receipt that such a copy got."""

    def concerned(self) -> bool:
        return bool(self._topics)

    @on(Stepped)
    @on(Fired)
    def happened(self, event: Stepped | Fired) -> None:
        """What a broker that ended had not stored yet, nobody waits for: it is no copy any more when it comes again."""
        self._loads.see(event)
        for (topic, _), name in self._names.items():
            if name.loads != (loads := self._loads.of(topic)):
                name.loads = loads
                name.waiting.clear()

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
        if base_topic(session.topic) not in self._topics:
            return
        # Before what is not judged is left out: it is stored, too, and ids up to its highest are decided then.
        name = self._names.setdefault((session.topic, session.name), Name(loads=self._loads.of(session.topic)))
        alone = event.meta is not None and event.meta.batch is None and event.meta.chunk_id is None
        if not alone or event.intact is False:
            return
        id = event.sequence_id or 0
        first = None
        if id <= name.arrived:
            first = next((send for send in name.waiting.values() if id <= (send.sequence_id or 0)), None)
        if first is not None and id > name.stored:
            self._copies[event.conn, session.producer_id, id] = (name, first, event)
        else:
            name.waiting[place_of(event)] = event
            name.arrived = max(name.arrived, id)

    @on(Stored)
    def stored(self, event: Stored) -> None:
        name = self._names.get((event.topic, event.meta.producer_name))
        if name is not None and event.late:
            self._receipted_early = [
                early
                for early in self._receipted_early
                if early[0] is not name or (early[2].sequence_id or 0) > highest_id(event)
            ]
        if name is not None:
            name.stored = max(name.stored, highest_id(event))
            waiting = name.waiting
            while waiting and ((first := next(iter(waiting.values()))).sequence_id or 0) <= name.stored:
                del waiting[place_of(first)]

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
        self._receipted_early.append((*copied, event))

    def finish(self) -> None:
        for _, first, copy, receipt in self._receipted_early:
            self.breach(
                "receipted-undecided",
                f"sequence id {receipt.sequence_id} arrived at {ms(first.t_ns)} and again at {ms(copy.t_ns)}; before "
                f"it was stored the copy got a receipt at {ms(receipt.t_ns)}, where SEND_ERROR PersistenceError was "
                "expected",
                first,
                copy,
                receipt,
            )

    def _receipted(self, event: Frame) -> None:
        """Whatever became of it, the broker takes it for stored."""
        for name in self._names.values():
            if place_of(event) in name.waiting:
                name.stored = max(name.stored, event.sequence_id or 0)
        self._settled(event)

    def _settled(self, event: Frame) -> None:
        """A SEND that was answered keeps nobody waiting."""
        for name in self._names.values():
            name.waiting.pop(place_of(event), None)
