"""How far cumulative acknowledgments reach: each is about an entry and all before it on its topic."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import NamedTuple

from assay_conformance.model.event import Event
from assay_conformance.pulsar.timeline.consumers import Entry


class _Step(NamedTuple):
    seq: int
    reached: Entry
    furthest: Entry
    """What it, or one before it, reached."""


class Reach:
    """Cumulative calls, or ACKs, in order."""

    def __init__(self) -> None:
        self._steps: defaultdict[str, list[_Step]] = defaultdict(list)

    def add(self, event: Event, reached: Entry) -> None:
        """Take one that is behind all others."""
        steps = self._steps[reached.topic]
        steps.append(_Step(event.seq, reached, max(reached, steps[-1].furthest) if steps else reached))

    def furthest(self, topic: str, before: Event) -> Entry | None:
        """Return the furthest entry of a topic that was reached ahead of an event."""
        steps = self._steps.get(topic, [])
        place = bisect_left(steps, before.seq, key=lambda one: one.seq)
        return steps[place - 1].furthest if place else None

    def is_beyond(self, entry: Entry, before: Event) -> bool:
        """Return whether one ahead of an event reached a later entry."""
        furthest = self.furthest(entry.topic, before)
        return furthest is not None and entry < furthest

    def passes(self, entry: Entry, after: Event, before: Event) -> bool:
        """Return whether one between two events reached a later entry."""
        if not self.is_beyond(entry, before):
            return False
        steps = self._steps[entry.topic]
        since = bisect_right(steps, after.seq, key=lambda one: one.seq)
        until = bisect_left(steps, before.seq, key=lambda one: one.seq)
        return any(step.reached > entry for step in steps[since:until])
