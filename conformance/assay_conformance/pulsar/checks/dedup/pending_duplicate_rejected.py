"""A duplicate that arrives before the first SEND is stored."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.loading import Loads
from assay_conformance.model.event import Fired, Frame, Stepped, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import deduplicated
from assay_conformance.pulsar.checks.dedup._names import Name, highest_id, place_of


class PendingDuplicateRejected(Check):
    """A duplicate of a SEND that has arrived and is not stored yet is answered by SEND_ERROR PersistenceError.

    Judged are messages sent alone. Any answer after the first SEND is stored is accepted; where the broker reported an
    entry late, it is unknown since when that was so, and since when all ids up to its highest were stored.
    """

    requirement = RequirementId("dedup.pending-duplicate-rejected")

    def start(self) -> None:
        self._loads = Loads(self.view.case)
        self._topics = deduplicated(self.view)
        self._names: dict[tuple[str, str], Name] = {}
        self._copies: dict[tuple[int, int, int], tuple[Name, Frame, Frame]] = {}
        """(connection, producer, sequence id) -> its name, the SEND that is not stored yet, and the duplicate."""
        self._receipted_early: list[tuple[Name, Frame, Frame, Frame]] = []
        """The same, and the receipt that the duplicate got."""

    def concerned(self) -> bool:
        return bool(self._topics)

    @on(Stepped)
    @on(Fired)
    def loaded(self, event: Stepped | Fired) -> None:
        """What a broker that ended had not stored is lost: a SEND with its id is no duplicate any more."""
        self._loads.see(event)
        for (topic, _), name in self._names.items():
            if name.loads != (loads := self._loads.of(topic)):
                name.loads = loads
                name.waiting.clear()

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        """SENDs that reached the broker before the producer registered again are not answered any more."""
        for key in [key for key in self._copies if key[:2] == (event.conn, event.producer_id)]:
            del self._copies[key]

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if not self._topics or not event.to_receiver or session is None or session.name is None:
            return
        if base_topic(session.topic) not in self._topics:
            return
        # Before unjudged SENDs are left out, since they are stored too, and their ids count.
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
                self._not_pending(event)
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
                f"sequence id {receipt.sequence_id} arrived at {ms(first.t_ns)} and again at {ms(copy.t_ns)}; expected "
                "SEND_ERROR PersistenceError for the second SEND while the first was not stored; it got a receipt at "
                f"{ms(receipt.t_ns)}",
                first,
                copy,
                receipt,
            )

    def _receipted(self, event: Frame) -> None:
        """The broker holds it to be stored, whatever became of it."""
        for name in self._names.values():
            if place_of(event) in name.waiting:
                name.stored = max(name.stored, event.sequence_id or 0)
        self._not_pending(event)

    def _not_pending(self, event: Frame) -> None:
        """A SEND that was answered is not pending any more."""
        for name in self._names.values():
            name.waiting.pop(place_of(event), None)
