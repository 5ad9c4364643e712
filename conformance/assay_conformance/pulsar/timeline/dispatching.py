"""Entries that a broker cannot dispatch to any consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay_conformance.model.event import Position
from assay_conformance.pulsar.timeline.subscriptions import Subscription

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.timeline import Timeline


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
