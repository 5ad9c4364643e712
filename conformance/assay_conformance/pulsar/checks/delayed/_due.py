"""Delayed delivery: not before its time on Shared and Key_Shared subscriptions, at once on all others.

Times are the broker's, which runs on the bench's machine: the wall clock at the start plus the bench's clock since
then.
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
"""delayedDeliveryTickTimeMillis by default: the resolution of delivery times, whatever tick a policy sets."""


@dataclass(frozen=True, slots=True)
class Due:
    """An entry, and when it may be delivered, on the bench's clock."""

    stored: Stored
    at_ns: int

    @property
    def name(self) -> str:
        return self.stored.id.name


class DelayCheck(DispatchLedger):
    """Knows when every stored entry is due; a topic with delayed delivery disabled has none that are delayed."""

    needs = (Trait.DELAYED,)

    def start(self) -> None:
        super().start()
        topology = self.view.case.topology
        self._unix_ms = 0
        self.end: Ended | None = None
        self.due: dict[tuple[str, Position], Due] = {}
        self._policies = {topic.name: self._policy_of(topic) for topic in topology.topics}
        self._is_strict = topology.settings.delayed_strict

    @on(Began)
    def began(self, event: Began) -> None:
        self._unix_ms = event.unix_ms

    @on(Ended)
    def ended(self, event: Ended) -> None:
        self.end = event

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if event.meta.deliver_at_ms and self.policy(event.topic).active:
            due = Due(event, (event.meta.deliver_at_ms - self._unix_ms) * MS)
            self.due[event.topic, event.id.position] = due

    def policy(self, topic: str) -> DelayedDelivery:
        return self._policies.get(base_topic(topic), DelayedDelivery())

    def earliest_ns(self, due: Due) -> int:
        """Return when it may be delivered: at its time with strict delivery, else a tick earlier."""
        early_ms = 0 if self._is_strict else self.policy(due.stored.topic).tick_ms
        return due.at_ns - early_ms * MS

    def latest_ns(self, due: Due) -> int:
        """Return when it has certainly been delivered, if a consumer could take it."""
        coarse_ms = max(self.policy(due.stored.topic).tick_ms, TRACKED_MS)
        return due.at_ns + 2 * coarse_ms * MS + TOLERANCES["answer"].slack_ns

    def quiet_or_undecided(self, start: Event, end: Event, tolerance: Tolerance) -> bool:
        if self.tracker.load.quiet(start.t_ns, end.t_ns, tolerance):
            return True
        self.undecided("the machine was too busy to decide why a message was delayed")
        return False

    def _policy_of(self, topic: Topic) -> DelayedDelivery:
        return self.view.case.topology.policies_of(topic).delayed_delivery or DelayedDelivery()
