"""Delayed delivery: not before its time on Shared and Key_Shared subscriptions, at once on all others.

Times are the broker's, which is on the bench's machine: the wall clock of the beginning and the bench's own since then.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import on
from assay_conformance.checks.dispatches import DispatchLedger
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tolerance import MS, TOLERANCES, Tolerance
from assay_conformance.model.case import Topic
from assay_conformance.model.event import Began, Ended, Event, Position, Stored
from assay_conformance.model.policy import DelayedDelivery
from assay_conformance.model.topic_names import base_topic

WAITING_KINDS = ("Shared", "Key_Shared")
TRACKED_MS = 1_000
"""delayedDeliveryTickTimeMillis as brokers come with it: how coarse times are kept, whatever tick a policy sets."""


@dataclass(frozen=True, slots=True)
class Due:
    """An entry, and when it may be delivered, on the bench's clock."""

    stored: Stored
    at_ns: int

    @property
    def name(self) -> str:
        return self.stored.id.name


class DelayCheck(DispatchLedger):
    """Knows of every stored entry when it is due; topics whose delayed delivery is off have none."""

    needs = (Trait.DELAYED,)

    def start(self) -> None:
        super().start()
        topology = self.view.case.topology
        self._unix_ms = 0
        self.end: Ended | None = None
        self.due: dict[tuple[str, Position], Due] = {}
        self._terms = {topic.name: self._terms_of(topic) for topic in topology.topics}
        self._is_strict = topology.settings.delayed_strict

    @on(Began)
    def began(self, event: Began) -> None:
        self._unix_ms = event.unix_ms

    @on(Ended)
    def ended(self, event: Ended) -> None:
        self.end = event

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if event.meta.deliver_at_ms and self.terms(event.topic).active:
            due = Due(event, (event.meta.deliver_at_ms - self._unix_ms) * MS)
            self.due[event.topic, event.id.position] = due

    def terms(self, topic: str) -> DelayedDelivery:
        return self._terms.get(base_topic(topic), DelayedDelivery())

    def earliest_ns(self, due: Due) -> int:
        """When it may be delivered: at its time where that is strict, else a tick earlier."""
        early_ms = 0 if self._is_strict else self.terms(due.stored.topic).tick_ms
        return due.at_ns - early_ms * MS

    def latest_ns(self, due: Due) -> int:
        """When it has been delivered for certain, to somebody who can take it."""
        coarse_ms = max(self.terms(due.stored.topic).tick_ms, TRACKED_MS)
        return due.at_ns + 2 * coarse_ms * MS + TOLERANCES["answer"].slack_ns

    def quiet_or_undecided(self, start: Event, end: Event, tolerance: Tolerance) -> bool:
        if self.tracker.load.quiet(start.t_ns, end.t_ns, tolerance):
            return True
        self.undecided("the machine was too busy to tell what a message waited for")
        return False

    def _terms_of(self, topic: Topic) -> DelayedDelivery:
        return self.view.case.topology.policies_of(topic).delayed_delivery or DelayedDelivery()
