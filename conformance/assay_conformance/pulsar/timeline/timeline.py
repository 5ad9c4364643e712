"""The relations of one attempt, each derived when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from assay_conformance.checks.base import View
from assay_conformance.history.events import grouped
from assay_conformance.ledger.from_history.evidence import HistoryJudged
from assay_conformance.model.event import Event
from assay_conformance.pulsar.timeline.acknowledging import Acknowledging
from assay_conformance.pulsar.timeline.consumers import Consumer
from assay_conformance.pulsar.timeline.disconnecting import Disconnecting
from assay_conformance.pulsar.timeline.interruptions import Interruption, interruptions
from assay_conformance.pulsar.timeline.producers import Producer
from assay_conformance.pulsar.timeline.rows import judged_rows

T = TypeVar("T")


class Timeline(Disconnecting, Acknowledging):
    """What happened in an attempt. Made once its events have been read; it does not know the checks that use it."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._derived: dict[Callable[[Timeline], Any], Any] = {}

    def once(self, relation: Callable[[Timeline], T]) -> T:
        """Return a relation that only one chapter uses; it is derived once."""
        if relation not in self._derived:
            self._derived[relation] = relation(self)
        return self._derived[relation]  # type: ignore[no-any-return]

    def forget(self) -> None:
        """Forget what `once` derived: a relation may hold the timeline, which would keep the whole attempt until a
        collection of garbage, and that has to walk through every event."""
        self._derived.clear()

    def loads(self, topic: str, before: Event) -> int:
        """Return how often a topic, or the topic of a partition, had been loaded again."""
        return sum(event.seq < before.seq for event in self.reloads(topic))

    @property
    def has_loaded(self) -> bool:
        """Whether any topic may have been loaded again."""
        return any(self.reloads(topic.name) for topic in self.view.case.topology.topics)

    def can(self, capability: str) -> bool:
        """Return whether the client declares it."""
        return capability in self.view.facts.capabilities

    @cached_property
    def rows(self) -> HistoryJudged:
        """The history as rows of a ledger, judged by the same rules as any."""
        return judged_rows(self.view)

    @cached_property
    def interruptions(self) -> list[Interruption]:
        """The interruptions of producers and consumers that had been admitted to a topic before."""
        return interruptions(self)

    def interruptions_of(self, owner: Producer | Consumer) -> Sequence[Interruption]:
        """Return the interruptions of a producer or consumer."""
        return self._interruptions_by_owner.get(id(owner), ())

    @cached_property
    def _interruptions_by_owner(self) -> dict[int, list[Interruption]]:
        return grouped(self.interruptions, lambda one: id(one.owner))
