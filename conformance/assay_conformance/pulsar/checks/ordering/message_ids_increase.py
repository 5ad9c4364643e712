from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import FORGED_OR_DOUBLED, Frame, ReadBack, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import Breach, Exercised, Says, Timeline, breach, check, each, ms


@check("ordering.message-ids-increase")
def message_ids_increase(timeline: Timeline) -> Says:
    """ordering.message-ids-increase: ledger and entry increase, as the broker assigns them. Judged are the receipts of
    each producer, and what a topic holds at the end.

    A receipt names the entry that its message is stored as: it is wrong where another message is stored there; where
    none is, the message is lost, which other requirements judge.
    """
    yield from each(timeline.events.of(ReadBack), _in_step)
    yield from each(_receipts(timeline), _receipt)


def _in_step(read: ReadBack) -> Says:
    for before, entry in itertools.pairwise(read.entries):
        if entry.ledger > before.ledger:
            yield Exercised(read)
        elif entry.ledger < before.ledger or entry.entry != before.entry + 1:
            yield breach(
                "ids-not-in-step",
                f"topic {read.topic} holds {before.name} followed by {entry.name}; expected the next entry id of that "
                "ledger, or a later ledger",
                read,
            )
            return


class _Receipt(NamedTuple):
    """A receipt that names an entry of a topic. `before`: the one before it, of the same producer; `send`: what it
    answers, where that is known."""

    frame: Frame
    entry: Stored
    before: Frame | None
    send: Frame | None


def _receipt(receipt: _Receipt) -> Says:
    frame, entry, before, send = receipt
    if before is not None:
        is_later = frame.ids[0].position > before.ids[0].position
        yield Exercised(frame) if is_later else _falls(before, frame)
    if send is not None and send.unit is not None and entry.unit != send.unit:
        yield breach(
            "receipt-names-another",
            f"the SEND with sequence id {send.sequence_id} at {ms(send.t_ns)} got a receipt with {frame.ids[0].name} "
            f"of topic {entry.topic} at {ms(frame.t_ns)}; expected the id of the entry with its message; another "
            "message is stored there",
            *(send, frame, entry),
        )


def _falls(before: Frame, receipt: Frame) -> Breach:
    return breach(
        "id-falls",
        f"producer {receipt.producer_id} of connection {receipt.conn} got a receipt with {receipt.ids[0].name} at "
        f"{ms(receipt.t_ns)}; expected a later id than {before.ids[0].name}, which its receipt at {ms(before.t_ns)} "
        "has",
        *(before, receipt),
    )


def _receipts(timeline: Timeline) -> Iterator[_Receipt]:
    persistent = {topic.name for topic in timeline.topology.topics if topic.persistent}
    stored = (one for one in timeline.events.of(Stored) if base_topic(one.topic) in persistent)
    logs = {(one.topic, one.id.position): one for one in stored}
    waiting, last = _Waiting(), dict[object, Frame]()
    for frame in timeline.events.frames("PRODUCER", "SEND", "SEND_ERROR", "SEND_RECEIPT"):
        if frame.command != "SEND_RECEIPT":
            waiting.see(frame)
        elif frame.from_sender and frame.ids and frame.fate not in FORGED_OR_DOUBLED:
            again = frame.ids[0].is_duplicate_marker
            session, send = timeline.session_of(frame), waiting.answered(frame, again=again)
            entry = None if session is None or again else logs.get((session.topic, frame.ids[0].position))
            if session is not None and entry is not None:
                place = (frame.conn, session.producer_id, session.topic)
                yield _Receipt(frame, entry, last.get(place), send)
                last[place] = frame


class _Waiting:
    """SENDs at the broker that are not answered."""

    def __init__(self) -> None:
        self._sends: dict[tuple[int, int], dict[int, deque[Frame]]] = {}
        self._damaged: Counter[tuple[int, int, int]] = Counter()
        """Connection, producer and sequence id -> SENDs that arrived damaged, whose answers are errors of their own."""
        self._unsure: set[tuple[int, int, int]] = set()
        """Connection, producer and sequence id of several SENDs, one of which was answered at once: a chunk that was
        refused, or one of two messages with that id. It is unknown which."""

    def see(self, frame: Frame) -> None:
        """Take a PRODUCER, SEND or SEND_ERROR."""
        place, id = (frame.conn, frame.producer_id or 0), frame.sequence_id or 0
        if frame.command == "SEND_ERROR" and frame.from_sender:
            if frame.fields.get("error") == "ChecksumError" and self._damaged[*place, id]:
                self._damaged[*place, id] -= 1
            else:
                self.answered(frame, again=bool(frame.ids) and is_duplicate(frame))
        elif frame.command == "PRODUCER" and frame.to_receiver:
            # What reached the broker before the producer registered again is not answered any more.
            self._sends.pop(place, None)
            self._unsure = {unsure for unsure in self._unsure if unsure[:2] != place}
        elif frame.command == "SEND" and frame.to_receiver and frame.intact is False:
            self._damaged[*place, id] += 1
        elif frame.command == "SEND" and frame.to_receiver:
            self._sends.setdefault(place, {}).setdefault(id, deque()).append(frame)

    def answered(self, answer: Frame, *, again: bool) -> Frame | None:
        """Return the SEND that is answered; None where it may be one of several. `again`: the answer says that it is a
        duplicate."""
        sends, id = self._sends.get((answer.conn, answer.producer_id or 0), {}), answer.sequence_id or 0
        waiting, place = sends.get(id), (answer.conn, answer.producer_id or 0, id)
        if not waiting:
            return None
        if again:
            # A duplicate is answered at once, before the receipts of SENDs that are being written; of chunks only the
            # last.
            may_be = list(itertools.islice((send for send in waiting if _ends_message(send)), 2))
            if len(may_be) > 1:
                self._unsure.add(place)
            for send in may_be[:1]:
                waiting.remove(send)
            return may_be[0] if len(may_be) == 1 else None
        alone = len(waiting) == 1
        if not alone and answer.command == "SEND_ERROR":
            # It does not say for which chunk. Receipts come in order, but from now on there is one less.
            self._unsure.add(place)
        unsure, first = place in self._unsure, waiting.popleft()
        if alone:
            self._unsure.discard(place)
        return first if alone and not unsure else None


def _ends_message(send: Frame) -> bool:
    return send.meta is None or send.meta.chunk_id is None or send.meta.chunk_id == (send.meta.chunks or 0) - 1
