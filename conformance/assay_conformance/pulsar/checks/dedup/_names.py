"""What has arrived under each producer name, and is stored: as its broker got, wrote and answered it."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.history.events import in_order
from assay_conformance.model.event import Frame, Stored
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, Name, name_of, named_session
from assay_conformance.pulsar.timeline import Publish, Timeline


@dataclass(slots=True, eq=False)
class Numbers:
    """The highest ids that arrived and are stored under a name, as a check counts them. `pending`: its SENDs that are
    neither stored nor answered, in order of arrival."""

    arrived: int = NO_SEQUENCE_ID
    stored: int = NO_SEQUENCE_ID
    pending: dict[Publish, None] = field(default_factory=dict)

    def arrives(self, publish: Publish) -> None:
        """Count a SEND that is to be stored."""
        self.pending[publish] = None
        self.arrived = max(self.arrived, publish.highest_id)

    def written(self, highest: int) -> None:
        """Count all up to this id as stored."""
        self.stored = max(self.stored, highest)
        while (first := next(iter(self.pending), None)) is not None and first.highest_id <= self.stored:
            del self.pending[first]

    def answered(self, publish: Publish, answer: Frame) -> None:
        """Count a SEND that was answered."""
        self.pending.pop(publish, None)
        if answer.command == "SEND_RECEIPT" and not is_duplicate(answer):
            self.written(publish.highest_id)

    def is_new(self, id: int) -> bool:
        """Return whether nothing with this id or a later one is stored or pending."""
        return id > self.arrived or (id > self.stored and all(id > one.highest_id for one in self.pending))

    def first_pending(self, id: int) -> Publish | None:
        """Return the SEND with this id or a later one that is not stored yet."""
        return next((one for one in self.pending if id <= one.id), None) if id > self.stored else None


class Step(NamedTuple):
    """A SEND at its broker, its answer, or an entry (then without `publish`) under a name."""

    event: Frame | Stored
    name: Name
    numbers: Numbers
    publish: Publish | None = None


def steps(timeline: Timeline, topics: Set[str]) -> Iterator[Step]:
    """Yield what happened under the names of these topics, in order, but for entries with chunks before the last."""
    names, whose = dict[Name, Numbers](), dict[Publish, Name]()
    frames = timeline.events.frames("SEND", "SEND_RECEIPT", "SEND_ERROR") if topics else ()
    events: list[Frame | Stored] = [*frames, *timeline.events.of(Stored)] if frames else []
    for event in in_order(events):
        if isinstance(event, Stored):
            name = (event.topic, event.meta.producer_name)
            if name in names and not event.meta.is_early_chunk:
                yield Step(event, name, names[name])
        elif (publish := timeline.publishes.of(event)) is not None:
            session = named_session(timeline, event, topics) if event is publish.send else None
            if session is not None:
                whose[publish] = name_of(session)
            if publish in whose:
                yield Step(event, whose[publish], names.setdefault(whose[publish], Numbers()), publish)
