"""When entries with a delivery time may be sent, and when they were.

Times are the broker's, which runs on the bench's machine: the wall clock at the start plus the bench's clock since
then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.ledger.clauses import SHARED_TYPES
from assay_conformance.model.event import Began, Position, Stored
from assay_conformance.model.policy import DelayedDelivery
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import MS, TOLERANCES, AvailablePermits, Delivery, Member, Subscription, Timeline

TRACKED_MS = 1_000
"""delayedDeliveryTickTimeMillis by default: the resolution of delivery times, whatever tick a policy sets."""


class Due(NamedTuple):
    """An entry and its time. `earliest_ns`: when it may be sent; `latest_ns`: when it has certainly been, if a consumer
    could take it."""

    stored: Stored
    at_ns: int
    earliest_ns: int
    latest_ns: int

    @property
    def name(self) -> str:
        """Ledger and entry."""
        return self.stored.id.name


def delayed(timeline: Timeline) -> dict[tuple[str, Position], Due]:
    """Return every entry with a delivery time, by topic and place; none of a topic with delayed delivery disabled."""
    topology = timeline.topology
    policies = {topic.name: topology.policies_of(topic).delayed_delivery for topic in topology.topics}
    began = next(iter(timeline.events.of(Began)), None)
    found = dict[tuple[str, Position], Due]()
    for stored in timeline.events.of(Stored):
        policy = policies.get(base_topic(stored.topic)) or DelayedDelivery()
        if stored.meta.deliver_at_ms and policy.active:
            at_ns = (stored.meta.deliver_at_ms - (0 if began is None else began.unix_ms)) * MS
            earliest_ns = at_ns - (0 if topology.settings.delayed_strict else policy.tick_ms) * MS
            latest_ns = at_ns + 2 * max(policy.tick_ms, TRACKED_MS) * MS + TOLERANCES["answer"].slack_ns
            found[stored.topic, stored.id.position] = Due(stored, at_ns, earliest_ns, latest_ns)
    return found


class SentDelayed(NamedTuple):
    """An entry with a delivery time that was sent."""

    due: Due
    subscription: Subscription
    member: Member
    delivery: Delivery
    supply: AvailablePermits


def sent_delayed(timeline: Timeline, *, waiting: bool) -> Iterator[SentDelayed]:
    """Yield all that was sent delayed, by subscription: on those that wait for the time, or on the others."""
    due = delayed(timeline)
    for subscription in timeline.steady_subscriptions if due else ():
        for member, delivery in subscription.served:
            its = due.get((subscription.topic, delivery.position))
            if its is not None and (subscription.kind_at(delivery.frame) in SHARED_TYPES) is waiting:
                supply = timeline.broker_account(member.session).available_before[delivery.frame.seq]
                yield SentDelayed(its, subscription, member, delivery, supply)
