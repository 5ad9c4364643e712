from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.model.event import Position
from assay_conformance.pulsar.timeline import (
    Breach,
    Delivery,
    Exercised,
    Member,
    Says,
    Subscription,
    Timeline,
    breach,
    check,
    ms,
)
from assay_conformance.pulsar.timeline.subscriptions import sticky_key

Key = str | bytes


@dataclass(slots=True)
class _Dispatched:
    """One key of one subscription. `holder` was sent `sent` last, oldest first; `furthest` is the last entry that was
    sent for the first time, and `ever` are all that were sent. `left`: unacknowledged entries of a consumer that
    left."""

    holder: Member
    sent: dict[Position, Delivery] = field(default_factory=dict)
    furthest: Delivery | None = None
    left: deque[Position] = field(default_factory=deque)
    ever: set[Position] = field(default_factory=set)


class _Sent(NamedTuple):
    """An entry of a key, as it is sent. `last`: how each entry of the subscription was sent last, before this."""

    subscription: Subscription
    key: Key
    delivery: Delivery
    last: dict[Position, Delivery]

    def is_unacked(self, position: Position) -> bool:
        """Return whether an entry that was sent was not acknowledged."""
        return self.subscription.is_unacked(self.last[position], self.delivery.frame)


@check("ordering.key-shared-keeps-order", of=lambda timeline: timeline.steady_subscriptions)
def key_shared_keeps_order(_timeline: Timeline, subscription: Subscription) -> Says:
    """ordering.key-shared-keeps-order: entries of a key are sent in order, to one consumer at a time, also when
    consumers are added or leave.

    An entry is out while its consumer is attached, and has neither acknowledged it nor requested its redelivery. A
    redelivered entry may come after entries that were sent meanwhile; an entry of a consumer that left may not. Entries
    with a delivery time are not judged.
    """
    keys: dict[Key, _Dispatched] = {}
    last: dict[Position, Delivery] = {}
    for member, delivery in subscription.served:
        meta, kind = delivery.frame.meta, subscription.kind_at(delivery.frame)
        key = None if meta is None or meta.deliver_at_ms is not None else sticky_key(meta)
        if key is not None and kind == "Key_Shared":
            known, sent = keys.setdefault(key, _Dispatched(member)), _Sent(subscription, key, delivery, last)
            if known.holder is not member:
                yield _holder_changes(sent, known, member)
            yield from _in_order(sent, known)
            known.sent[delivery.position] = delivery
        last[delivery.position] = delivery


def _holder_changes(sent: _Sent, known: _Dispatched, member: Member) -> Exercised | Breach:
    """Judge a change of holder: another consumer is sent an entry of the key, so the one before may have none out."""
    frame = sent.delivery.frame
    before, known.holder = known.holder, member
    earlier, known.sent = known.sent, {}
    if not before.lives(frame):
        known.left = deque(sorted({*known.left, *(entry for entry in earlier if sent.is_unacked(entry))}))
        return Exercised(frame)
    out = next((one.frame for one in earlier.values() if one.is_out(frame.seq)), None)
    if out is None:
        return Exercised(frame)
    return breach(
        "key-at-two-consumers",
        f"{sent.subscription}: entry {frame.ids[0].name} of key {sent.key!r} went to {member} at {ms(frame.t_ns)}; "
        f"expected it to wait, since entry {out.ids[0].name} of that key, sent at {ms(out.t_ns)}, was unacknowledged "
        f"at {before}",
        *(out, frame),
    )


def _in_order(sent: _Sent, known: _Dispatched) -> Says:
    delivery, furthest = sent.delivery, known.furthest
    position = delivery.position
    while known.left and (known.left[0] == position or not sent.is_unacked(known.left[0])):
        known.left.popleft()
    if known.left and known.left[0] < position:
        earlier = sent.last[known.left.popleft()]
        yield _overtakes(sent, earlier, delivery, "which a consumer that left had not acknowledged")
    elif furthest is not None and position < furthest.position and position not in known.ever:
        yield _overtakes(sent, delivery, furthest, "which had not been sent to any consumer")
    if furthest is None or position > furthest.position:
        known.furthest = delivery
    known.ever.add(position)


def _overtakes(sent: _Sent, earlier: Delivery, later: Delivery, why: str) -> Breach:
    return breach(
        "key-out-of-order",
        f"{sent.subscription}: of key {sent.key!r} entry {later.frame.ids[0].name} was sent at {ms(later.frame.t_ns)}; "
        f"expected entry {earlier.frame.ids[0].name} before it, {why}",
        *(earlier.frame, later.frame),
    )
