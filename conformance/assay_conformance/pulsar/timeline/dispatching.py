"""Entries that a broker cannot dispatch to any consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from assay_conformance.checks.base import View
from assay_conformance.judging.tolerance import MS
from assay_conformance.model.event import Position
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline.deliveries import Delivery
from assay_conformance.pulsar.timeline.subscriptions import Member, Subscription

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.timeline import Timeline


SERVED_NS: Final = 200 * MS
"""How long a consumer must be there with permits until it has what it is owed."""


def permits_left(timeline: Timeline, member: Member, since_ns: int) -> int:
    """Return how many permits a consumer had in the end, and had kept having since this time for long enough to be sent
    what it is owed; 0 where that is not so."""
    left, until_ns = timeline.broker_account(member.session).left, timeline.bounds.until(member.session.ended)
    if left.since is None or until_ns - max(since_ns, member.joined.t_ns, left.since.t_ns) <= SERVED_NS:
        return 0
    return left.available


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


class Assemblers:
    """Who assembles the messages in chunks of a Shared subscription, once it has sent some. `begun`: where each
    message begins that was sent; `at`: the member that got the latest chunk, until it has all."""

    def __init__(self, subscription: Subscription) -> None:
        self._begun: dict[str, Position] = {}
        self._at: dict[str, Member] = {}
        for member, delivery in subscription.served:
            meta = delivery.frame.meta
            if meta is None or meta.uuid is None or subscription.kind_at(delivery.frame) != "Shared":
                continue
            self._at[meta.uuid] = member
            if (meta.chunk_id or 0) + 1 == meta.chunks:
                del self._at[meta.uuid]
            if meta.chunk_id == 0:
                self._begun[meta.uuid] = delivery.position

    def may_take(self, member: Member, chunk: Delivery) -> bool:
        """Return whether an entry may go to this consumer.

        The first chunk of a message may go to any, others to the one that got those before. Where the first one is
        acknowledged, the rest goes to none, nor does a chunk that is stored before the first. Neither does the rest of
        a message that its consumer had not completed when it left: a broker of Pulsar 4.0 keeps it for that consumer,
        even when the first chunk is sent again (apache/pulsar#26396).
        """
        meta = chunk.frame.meta
        if meta is None or meta.uuid is None:
            return True
        if chunk.position < self._begun.get(meta.uuid, chunk.position):
            return False
        holder = self._at.get(meta.uuid)
        return not meta.chunk_id if holder is None else holder is member


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
