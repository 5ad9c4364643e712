"""What a broker has to send, and whom it may send it to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assay_conformance.model.event import Position
from assay_conformance.pulsar.timeline.subscriptions import Member, Subscription

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.timeline import Timeline


class SupplyLeft(NamedTuple):
    """Permits that a consumer has at its end, and since when it had some, without a break."""

    permits: int
    since_ns: int


def supply_left(timeline: Timeline, member: Member) -> SupplyLeft:
    """Return the permits that a consumer has left at its end.

    A FLOW that crosses the broker's CLOSE_CONSUMER reaches no consumer.
    """
    permits, since_ns, ended = 0, 0, member.session.ended
    for frame in timeline.consumer_sessions.frames(member.session, "FLOW", "MESSAGE"):
        if not frame.at_broker or frame.seq < member.joined.seq:
            continue
        if frame.command == "MESSAGE":
            permits -= frame.messages
        elif ended is None or frame.seq < ended.seq:
            since_ns = frame.t_ns if permits <= 0 else since_ns
            permits += frame.permits or 0
    return SupplyLeft(permits, since_ns)


def orphan(timeline: Timeline, subscription: Subscription) -> Position | None:
    """Return the first chunk that a Shared subscription sends to no consumer, and behind which it reads nothing.

    It lacks its acknowledgment when the first one of its message has it, or is not stored ahead of it
    (SharedConsumerAssignor).
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
