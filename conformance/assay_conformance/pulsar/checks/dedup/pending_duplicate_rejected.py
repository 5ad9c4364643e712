from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.history.events import in_order
from assay_conformance.model.event import Fired, Frame, Stepped, Stored
from assay_conformance.pulsar.checks.dedup._deduplication import (
    NO_SEQUENCE_ID,
    Name,
    deduplicated,
    name_of,
    named_session,
)
from assay_conformance.pulsar.timeline import Exercised, Publish, Says, Timeline, breach, check, ms


@dataclass(slots=True, eq=False)
class _Name:
    """What has arrived under one producer name on one topic, and is stored."""

    arrived: int = NO_SEQUENCE_ID
    stored: int = NO_SEQUENCE_ID
    late: dict[int, int] = field(default_factory=dict)
    """Number (`seq`) of an entry that the broker reported late -> its highest id."""
    waiting: dict[Publish, None] = field(default_factory=dict)
    """SENDs that are neither stored nor refused yet, in order of arrival."""

    def take(self, stored: Stored) -> None:
        """Note that all up to this entry are stored."""
        if stored.late:
            self.late[stored.seq] = stored.meta.highest_id
        self.stored = max(self.stored, stored.meta.highest_id)
        while (first := next(iter(self.waiting), None)) is not None and first.id <= self.stored:
            del self.waiting[first]

    def first_pending(self, id: int) -> Publish | None:
        """Return the SEND with this id or a later one that is not stored yet."""
        pending = self.waiting if self.stored < id <= self.arrived else ()
        return next((one for one in pending if id <= one.id), None)


class _Copy(NamedTuple):
    """A duplicate, and the SEND before it that was not stored yet. `decided`: all ids up to this one were stored when
    it was answered."""

    name: _Name
    first: Publish
    publish: Publish
    decided: int = NO_SEQUENCE_ID


class _Walk:
    """Through what one broker after the other got, stored and answered."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._topics = deduplicated(timeline.view)
        self._names: dict[Name, _Name] = {}
        self._copies: dict[Publish, _Copy] = {}

    def copies(self) -> Iterator[_Copy]:
        """Yield copies of messages that were sent alone, as they are answered."""
        events = self._timeline.events
        frames = events.frames("SEND", "SEND_RECEIPT", "SEND_ERROR") if self._topics else ()
        moments: list[Frame | Stored | Stepped | Fired] = [*frames]
        moments += (*events.of(Stored), *events.of(Stepped), *events.of(Fired)) if frames else ()
        for moment in in_order(moments):
            if isinstance(moment, Stepped | Fired):
                self._loaded(moment)
            elif isinstance(moment, Stored):
                name = self._names.get((moment.topic, moment.meta.producer_name))
                if name is not None:
                    name.take(moment)
            elif isinstance(moment, Frame) and (publish := self._timeline.publishes.of(moment)) is not None:
                if moment is publish.send:
                    self._sent(publish)
                else:
                    yield from self._answered(publish, moment)

    def _loaded(self, event: Stepped | Fired) -> None:
        """Forget what a broker that ended had not stored: a SEND with its id is no duplicate any more."""
        for (topic, _), name in self._names.items():
            if event in self._timeline.reloads(topic):
                name.waiting.clear()

    def _sent(self, publish: Publish) -> None:
        send = publish.send
        session = named_session(self._timeline, send, self._topics)
        if session is None:
            return
        # Before unjudged SENDs are left out, since they are stored too, and their ids count.
        name = self._names.setdefault(name_of(session), _Name())
        alone = send.meta is not None and send.meta.batch is None and send.meta.chunk_id is None
        if not alone or not publish.is_intact:
            return
        first = name.first_pending(publish.id)
        if first is not None:
            self._copies[publish] = _Copy(name, first, publish)
        else:
            name.waiting[publish] = None
            name.arrived = max(name.arrived, publish.id)

    def _answered(self, publish: Publish, answer: Frame) -> Iterator[_Copy]:
        copy = self._copies.get(publish)
        if copy is not None:
            yield copy._replace(decided=copy.name.stored)
            return
        for name in self._names.values():
            if publish in name.waiting:
                del name.waiting[publish]
                if answer.command == "SEND_RECEIPT":
                    # The broker holds it to be stored, whatever became of it.
                    name.stored = max(name.stored, publish.id)


@check("dedup.pending-duplicate-rejected", of=lambda timeline: list(_Walk(timeline).copies()))
def pending_duplicate_rejected(timeline: Timeline, copy: _Copy) -> Says:
    """dedup.pending-duplicate-rejected: a duplicate of a SEND that has arrived and is not stored yet is answered by
    SEND_ERROR PersistenceError.

    Judged are messages sent alone. Any answer after the first SEND is stored is accepted; where the broker reported an
    entry late, it is unknown since when that was so, and since when all ids up to its highest were stored.
    """
    name, first, publish, decided = copy
    answer, id = publish.likely_answer, publish.id
    if answer is None:
        return
    if answer.command == "SEND_ERROR":
        if answer.fields.get("error") == "PersistenceError":
            yield Exercised(answer)
    elif id > decided and not any(seq > answer.seq and id <= highest for seq, highest in name.late.items()):
        yield breach(
            "receipted-undecided",
            f"sequence id {id} arrived at {ms(first.send.t_ns)} and again at {ms(publish.send.t_ns)}; expected "
            "SEND_ERROR PersistenceError for the second SEND while the first was not stored; it got a receipt at "
            f"{ms(answer.t_ns)}",
            *(first.send, publish.send, answer),
        )
