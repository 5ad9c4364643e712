"""Entries that a broker cannot dispatch to any consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay_conformance.checks.base import View
from assay_conformance.model.event import Position
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline.subscriptions import Subscription

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.timeline import Timeline


def may_wait_or_vanish(view: View, topic: str) -> bool:
    """Return whether a rate or a limit may keep an entry from a consumer with permits, or a policy may delete it."""
    return not view.is_dispatched_at_once(topic) or is_limited(view, topic)


def is_limited(view: View, topic: str) -> bool:
    """Return whether a policy other than a rate may do so: a limit of unacknowledged messages, a time to live, or a
    quota of the backlog."""
    topology = view.case.topology
    held = topology.policies_of(topology.named(base_topic(topic)))
    limits = (held.max_unacked_per_consumer, held.max_unacked_per_subscription, held.message_ttl_s)
    return any(limits) or held.backlog_quota is not None


def undispatchable_chunk(timeline: Timeline, subscription: Subscription) -> Position | None:
    """Return the first chunk that a Shared subscription dispatches to no consumer, and after which it reads nothing:
    the first chunk of its message is acknowledged or not stored before it, and it is not (SharedConsumerAssignor).
    """
    stored_first, begun = set[str | None](), set[str | None]()
    for stored in timeline.stored_on(subscription.topic):
        position, meta = stored.id.position, stored.described
        is_acked = position in subscription.acked
        if meta is None:
            continue
        if meta.chunk_id == 0:
            stored_first.add(meta.uuid)
            begun |= {meta.uuid} if is_acked else set()
        elif meta.chunk_id and not is_acked and (meta.uuid in begun or meta.uuid not in stored_first):
            return position
    return None
