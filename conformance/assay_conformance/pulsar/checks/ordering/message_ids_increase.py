"""Message ids: ledger and entry, as the broker assigns them."""

from __future__ import annotations

import itertools
from collections import Counter

from assay_conformance.checks.base import CAME, LEFT, Check, ms, on
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.checks.tracker import ProducerSession
from assay_conformance.model.event import FORGED_OR_DOUBLED, Fate, Frame, ReadBack, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic

_PASSED = Fate.PASSED


class MessageIdsIncrease(Check):
    """Judged are the receipts of each producer, and what a topic holds at the end.

    A receipt names the entry that its message is stored as: it is wrong where another message is stored there; where
    none is, the message is lost, which other requirements judge.
    """

    requirement = RequirementId("ordering.message-ids-increase")
    skips_plain = True

    def start(self) -> None:
        self._sends: dict[tuple[int, int], dict[int, tuple[Frame, ...]]] = {}
        self._damaged: Counter[tuple[int, int, int]] = Counter()
        """Connection, producer and sequence id -> SENDs that arrived damaged, whose answers are errors of their own."""
        self._unsure: set[tuple[int, int, int]] = set()
        """Connection, producer and sequence id of several SENDs, one of which was answered at once: a chunk that was
        refused, or one of two messages with that id. It is unknown which."""
        self._receipts: list[tuple[ProducerSession, Frame | None, Frame]] = []
        self._persistent = {topic.name for topic in self.view.case.topology.topics if topic.persistent}

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        """SENDs that reached the broker before the producer registered again are not answered any more."""
        if event.to_receiver:
            place = (event.conn, event.producer_id or 0)
            self._sends.pop(place, None)
            self._unsure = {unsure for unsure in self._unsure if unsure[:2] != place}

    @on(Frame, "SEND", seen=CAME)
    def send(self, event: Frame) -> None:
        place, id = (event.conn, event.producer_id or 0), event.sequence_id or 0
        if event.intact is False:
            self._damaged[*place, id] += 1
            return
        waiting = self._sends.get(place)
        if waiting is None:
            waiting = self._sends[place] = {}
        waiting[id] = (*waiting.get(id, ()), event)

    @on(Frame, "SEND_ERROR", seen=LEFT)
    def refused(self, event: Frame) -> None:
        place = (event.conn, event.producer_id or 0, event.sequence_id or 0)
        if event.fields.get("error") == "ChecksumError" and self._damaged[place]:
            self._damaged[place] -= 1
            return
        self._send_of(event, bool(event.ids) and is_duplicate(event))

    @on(Frame, "SEND_RECEIPT", seen=LEFT)
    def receipt(self, event: Frame) -> None:
        if not event.ids or (event.fate is not _PASSED and event.fate in FORGED_OR_DOUBLED):
            return
        session, again = self.tracker.producer_of(event), event.ids[0].is_duplicate_marker
        send = self._send_of(event, again)
        if session is not None and not again:
            self._receipts.append((session, send, event))

    @on(ReadBack)
    def read_back(self, event: ReadBack) -> None:
        for before, entry in itertools.pairwise(event.entries):
            if entry.ledger > before.ledger:
                self.exercise(event)
            elif entry.ledger < before.ledger or entry.entry != before.entry + 1:
                self.breach(
                    "ids-not-in-step",
                    f"topic {event.topic} holds {before.name} followed by {entry.name}; expected the next entry id of "
                    "that ledger, or a later ledger",
                    event,
                )
                return

    def finish(self) -> None:
        last: dict[tuple[int, int, str], Frame] = {}
        logs = {
            topic: {entry.id.position: entry for entry in log}
            for topic, log in self.tracker.stored.items()
            if base_topic(topic) in self._persistent
        }
        for session, send, receipt in self._receipts:
            entry = logs.get(session.topic, {}).get(receipt.ids[0].position)
            if entry is None:
                continue
            place = (receipt.conn, session.producer_id, session.topic)
            before, last[place] = last.get(place), receipt
            if before is not None:
                self._compare(before, receipt)
            if send is not None and send.unit is not None and entry.unit != send.unit:
                self._names_another(session.topic, send, receipt, entry)

    def _compare(self, before: Frame, receipt: Frame) -> None:
        if receipt.ids[0].position > before.ids[0].position:
            self.exercise(receipt)
            return
        self.breach(
            "id-falls",
            f"producer {receipt.producer_id} of connection {receipt.conn} got a receipt with {receipt.ids[0].name} at "
            f"{ms(receipt.t_ns)}; expected a later id than {before.ids[0].name}, which its receipt at "
            f"{ms(before.t_ns)} has",
            before,
            receipt,
        )

    def _names_another(self, topic: str, send: Frame, receipt: Frame, entry: Stored) -> None:
        self.breach(
            "receipt-names-another",
            f"the SEND with sequence id {send.sequence_id} at {ms(send.t_ns)} got a receipt with {receipt.ids[0].name} "
            f"of topic {topic} at {ms(receipt.t_ns)}; expected the id of the entry with its message; another message "
            "is stored there",
            send,
            receipt,
            entry,
        )

    def _send_of(self, answer: Frame, again: bool) -> Frame | None:
        """Return the SEND that is answered; None where it may be one of several. `again`: the answer says that it is a
        duplicate."""
        sends, id = self._sends.get((answer.conn, answer.producer_id or 0), {}), answer.sequence_id or 0
        waiting, place = sends.get(id), (answer.conn, answer.producer_id or 0, id)
        if not waiting:
            return None
        if again:
            # A duplicate is answered at once, before the receipts of SENDs that are being written; of chunks only the
            # last.
            may_be = [send for send in waiting if _ends_message(send)]
            if len(may_be) > 1:
                self._unsure.add(place)
            sends[id] = tuple(send for send in waiting if send not in may_be[:1])
            return may_be[0] if len(may_be) == 1 else None
        alone = len(waiting) == 1
        if not alone and answer.command == "SEND_ERROR":
            # It does not say for which chunk. Receipts come in order, but from now on there is one less.
            self._unsure.add(place)
        unsure = place in self._unsure
        if alone:
            del sends[id]
            self._unsure.discard(place)
        else:
            sends[id] = waiting[1:]
        return waiting[0] if alone and not unsure else None


def _ends_message(send: Frame) -> bool:
    return send.meta is None or send.meta.chunk_id is None or send.meta.chunk_id == (send.meta.chunks or 0) - 1
