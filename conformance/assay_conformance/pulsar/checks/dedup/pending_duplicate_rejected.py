from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.model.event import Fired, Frame, Stepped, Stored
from assay_conformance.pulsar.checks.dedup._deduplication import (
    NO_SEQUENCE_ID,
    Name,
    deduplicated,
    name_of,
    named_session,
)
from assay_conformance.pulsar.checks.dedup._names import Place, highest_id, place_of
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


@dataclass(slots=True, eq=False)
class _Name:
    """What has arrived under one producer name on one topic, and is stored."""

    arrived: int = NO_SEQUENCE_ID
    stored: int = NO_SEQUENCE_ID
    late: dict[int, int] = field(default_factory=dict)
    """Number (`seq`) of an entry that the broker reported late -> its highest id."""
    waiting: dict[Place, Frame] = field(default_factory=dict)
    """SENDs that are neither stored nor refused yet, in order of arrival."""

    def take(self, stored: Stored) -> None:
        """Note that all up to this entry are stored."""
        if stored.late:
            self.late[stored.seq] = highest_id(stored)
        self.stored = max(self.stored, highest_id(stored))
        while self.waiting and ((first := next(iter(self.waiting.values()))).sequence_id or 0) <= self.stored:
            del self.waiting[place_of(first)]

    def first_pending(self, id: int) -> Frame | None:
        """Return the SEND with this id or a later one that is not stored yet."""
        pending = self.waiting.values() if id <= self.arrived and id > self.stored else ()
        return next((send for send in pending if id <= (send.sequence_id or 0)), None)


class _Copy(NamedTuple):
    """A duplicate, the SEND before it that was not stored yet, and the answer to the duplicate."""

    name: _Name
    first: Frame
    send: Frame
    answer: Frame


class _Walk:
    """Through what one broker after the other got, stored and answered."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._topics = deduplicated(timeline.view)
        self._names: dict[Name, _Name] = {}
        self._copies: dict[Place, tuple[_Name, Frame, Frame]] = {}

    def copies(self) -> Iterator[_Copy]:
        """Yield copies of messages that were sent alone, each with its answer."""
        events = self._timeline.events
        frames = events.frames("PRODUCER", "SEND", "SEND_RECEIPT", "SEND_ERROR") if self._topics else ()
        others = (*events.of(Stored), *events.of(Stepped), *events.of(Fired)) if frames else ()
        for moment in sorted([*frames, *others], key=lambda one: one.seq):
            if isinstance(moment, Stepped | Fired):
                self._loaded(moment)
            elif isinstance(moment, Stored):
                name = self._names.get((moment.topic, moment.meta.producer_name))
                if name is not None:
                    name.take(moment)
            elif isinstance(moment, Frame):
                yield from self._frame(moment)

    def _loaded(self, event: Stepped | Fired) -> None:
        """Forget what a broker that ended had not stored: a SEND with its id is no duplicate any more."""
        for (topic, _), name in self._names.items():
            if event in self._timeline.reloads(topic):
                name.waiting.clear()

    def _frame(self, frame: Frame) -> Iterator[_Copy]:
        if frame.command == "PRODUCER":
            # SENDs that reached the broker before the producer registered again are not answered any more.
            for place in [place for place in self._copies if place[:2] == (frame.conn, frame.producer_id)]:
                del self._copies[place]
        elif frame.command == "SEND" and frame.to_receiver:
            self._sent(frame)
        elif frame.command != "SEND" and frame.from_sender and frame.producer_id is not None:
            yield from self._answered(frame)

    def _sent(self, send: Frame) -> None:
        session = named_session(self._timeline, send, self._topics)
        if session is None:
            return
        # Before unjudged SENDs are left out, since they are stored too, and their ids count.
        name = self._names.setdefault(name_of(session), _Name())
        alone = send.meta is not None and send.meta.batch is None and send.meta.chunk_id is None
        if not alone or send.intact is False:
            return
        id = send.sequence_id or 0
        first = name.first_pending(id)
        if first is not None:
            self._copies[send.conn, send.producer_id, id] = (name, first, send)
        else:
            name.waiting[place_of(send)] = send
            name.arrived = max(name.arrived, id)

    def _answered(self, answer: Frame) -> Iterator[_Copy]:
        place, id = (answer.conn, answer.producer_id, answer.sequence_id or 0), answer.sequence_id or 0
        copied = self._copies.pop(place, None)
        if copied is not None:
            if answer.command == "SEND_ERROR" or id > copied[0].stored:
                yield _Copy(*copied, answer)
            return
        for name in self._names.values():
            sent = name.waiting.pop(place_of(answer), None)
            if sent is not None and answer.command == "SEND_RECEIPT":
                # The broker holds it to be stored, whatever became of it.
                name.stored = max(name.stored, id)


@check("dedup.pending-duplicate-rejected", of=lambda timeline: list(_Walk(timeline).copies()))
def pending_duplicate_rejected(timeline: Timeline, copy: _Copy) -> Says:
    """dedup.pending-duplicate-rejected: a duplicate of a SEND that has arrived and is not stored yet is answered by
    SEND_ERROR PersistenceError.

    Judged are messages sent alone. Any answer after the first SEND is stored is accepted; where the broker reported an
    entry late, it is unknown since when that was so, and since when all ids up to its highest were stored.
    """
    name, first, send, answer = copy
    if answer.command == "SEND_ERROR":
        if answer.fields.get("error") == "PersistenceError":
            yield Exercised(answer)
        return
    id = send.sequence_id or 0
    if not any(seq > answer.seq and id <= highest for seq, highest in name.late.items()):
        yield breach(
            "receipted-undecided",
            f"sequence id {answer.sequence_id} arrived at {ms(first.t_ns)} and again at {ms(send.t_ns)}; expected "
            "SEND_ERROR PersistenceError for the second SEND while the first was not stored; it got a receipt at "
            f"{ms(answer.t_ns)}",
            *(first, send, answer),
        )
