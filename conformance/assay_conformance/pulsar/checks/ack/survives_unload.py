from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from assay_conformance.history.events import between, in_order
from assay_conformance.model.event import Closed, ClosedBy, Event, Fired, Frame, Position, Stepped
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline import (
    MS,
    Delivery,
    Exercised,
    Member,
    Says,
    Subscription,
    Timeline,
    breach,
    check,
    each,
    ms,
    name_of,
)
from assay_conformance.pulsar.timeline.dispatching import may_wait_or_vanish, permits_left, undispatchable_chunk
from assay_conformance.pulsar.timeline.loading import ends_of_brokers
from assay_conformance.pulsar.timeline.subscriptions import Acked

ARRIVED_NS: Final = 100 * MS
"""An ACK that crosses the broker's close is lost, as is one that a dying process has not read."""

WRITTEN_NS: Final = 300 * MS
"""How long a write of a cursor may take on a busy disk."""

_ALONE: Final = frozenset({"Failover", "Key_Shared"})
"""Types of subscription in which what is unacknowledged may be for another one than who has permits."""


@dataclass(slots=True)
class _Kept:
    """What is kept of one subscription.

    `young`: acknowledgments that a broker which dies may lose. `certain`: entries that are acknowledged for any broker
    that loads the topic. `owed`: entries, with what took them from their consumer, that have to come again.
    """

    young: deque[tuple[int, Position]] = field(default_factory=deque)
    certain: set[Position] = field(default_factory=set)
    owed: dict[Position, tuple[Delivery, Event]] = field(default_factory=dict)
    interrupted: Event | None = None

    def is_interrupted(self, event: Event, known_ns: int) -> None:
        """Note an interruption: from here on only what was acknowledged up to `known_ns` is certain."""
        self.interrupted = event
        while self.young and self.young[0][0] <= known_ns:
            self.certain.add(self.young.popleft()[1])
        self.young.clear()


@check("ack.survives-unload")
def survives_unload(timeline: Timeline) -> Says:
    """ack.survives-unload: after a broker has loaded a topic again, messages that were certainly acknowledged are not
    redelivered, and unacknowledged ones are.

    A broker that closes a topic in order writes its cursors as they are, and closes the consumers first. One that dies
    has written a cursor at most once a period: an acknowledgment was written for certain when another one came a whole
    period after it (then a write was allowed in between, and wrote both), or the regular flush of cursors was due
    since. Later acknowledgments may be known or not.

    No redelivery is expected of a message that may wait for something else: a rate, a limit of unacknowledged messages,
    a delivery time, or the consumer that has its other chunks; nor of one after a chunk that no consumer can get.
    """
    ends = _ends(timeline)
    for subscription in timeline.steady_subscriptions if ends else ():
        if subscription.durable:
            yield from _walk(timeline, subscription, ends)


def _ends(timeline: Timeline) -> list[Event]:
    """Return what may end a broker's knowledge of a subscription."""
    closes = (
        one for one in timeline.events.frames("CLOSE_CONSUMER") if one.dir is Direction.TO_CLIENT and one.at_broker
    )
    closed = (one for one in timeline.events.of(Closed) if one.by is ClosedBy.BROKER)
    ends: list[Event] = [*closes, *closed, *ends_of_brokers(timeline.view.case, timeline.events)]
    return in_order(ends)


Step = tuple[int, Delivery | Member | Event | Acked]


def _walk(timeline: Timeline, subscription: Subscription, ends: list[Event]) -> Says:
    kept = _Kept()
    served = {id(delivery): member for member, delivery in subscription.served}
    over, began = subscription.over, subscription.asked[0].session.request
    steps: list[Step] = [
        *((one.ack.seq, one) for one in subscription.acked.values()),
        *((one.frame.seq, one) for one in subscription.deliveries),
        *((member.joined.seq, member) for member in subscription.members),
        *((end.seq, end) for end in between(ends, began, over)),
    ]
    for _, step in sorted(steps, key=lambda one: one[0]):
        if isinstance(step, Acked):
            kept.young.append((step.ack.t_ns, step.delivery.position))
            kept.owed.pop(step.delivery.position, None)
        elif isinstance(step, Member):
            if kept.interrupted is not None and kept.certain:
                yield Exercised(step.joined)
        elif isinstance(step, Delivery):
            kept.owed.pop(step.position, None)
            if kept.interrupted is not None and step.position in kept.certain:
                kept.certain.discard(step.position)
                yield from each([(step, served[id(step)])], _comes_again, timeline, subscription, kept.interrupted)
        else:
            _ends_there(timeline, subscription, kept, step)
    if over is None:
        yield from _never_comes(timeline, subscription, kept)


def _ends_there(timeline: Timeline, subscription: Subscription, kept: _Kept, end: Event) -> None:
    there = [one for one in subscription.members if one.joined.seq < end.seq]
    if isinstance(end, Frame):
        session = timeline.consumer_sessions.of(end)
        gone = [one for one in there if one.session is session][-1:]
        known_ns = end.t_ns - ARRIVED_NS
    else:
        gone = [one for one in there if one.session.conn == end.conn] if isinstance(end, Closed) else []
        known_ns = _written_ns(timeline, kept, end)
    if gone or isinstance(end, Stepped | Fired):
        kept.is_interrupted(end, known_ns)
    for member in gone:
        # One that was gone before left what it had to the others.
        for position, delivery in member.out(end).items() if member.session.ended is end else ():
            meta = delivery.frame.meta
            waits = meta is not None and (meta.deliver_at_ms is not None or meta.uuid is not None)
            if not waits and subscription.has_unacked(end, position):
                kept.owed[position] = (delivery, end)


def _written_ns(timeline: Timeline, kept: _Kept, end: Event) -> int:
    """Return up to when a broker that died had written acknowledgments for certain."""
    settings = timeline.topology.settings
    period_ns = settings.cursor_persist_ms * MS + ARRIVED_NS
    flush_ns = settings.cursor_flush_s * 1_000 * MS + WRITTEN_NS
    last_ns = next((t_ns for t_ns, _ in reversed(kept.young) if t_ns <= end.t_ns - WRITTEN_NS), 0)
    return max(last_ns - period_ns, end.t_ns - flush_ns)


def _never_comes(timeline: Timeline, subscription: Subscription, kept: _Kept) -> Says:
    """Judge the first entry that is owed.

    Whatever an ACK has named since, a few messages of a batch for one, is not owed any more.
    """
    end = timeline.ended
    owed = {position: out for position, out in kept.owed.items() if subscription.has_unacked(end, position)}
    if owed and not may_wait_or_vanish(timeline.view, subscription.topic):
        position, (delivery, gone) = min(owed.items(), key=lambda one: one[0])
        stuck = undispatchable_chunk(timeline, subscription) if subscription.kind == "Shared" else None
        if stuck is None or stuck >= position:
            yield from _judge_owed(timeline, subscription, delivery, gone)


def _comes_again(
    timeline: Timeline, subscription: Subscription, interrupted: Event, again: tuple[Delivery, Member]
) -> Says:
    """Judge an entry that was certain to be acknowledged when its broker ended."""
    delivery, member = again
    acked = subscription.acked[delivery.position]
    timeline.bounds.check_quiet(
        "answer", acked.ack.t_ns, interrupted.t_ns, what="when a broker had written what was acknowledged"
    )
    yield breach(
        "acked-again",
        f"{subscription}: entry {name_of(delivery.position)} was certainly acknowledged when its broker ended at "
        f"{ms(interrupted.t_ns)}; expected no redelivery; it was sent to {member} again at "
        f"{ms(delivery.frame.t_ns)}",
        *(acked.delivery.frame, interrupted, delivery.frame),
    )


def _judge_owed(timeline: Timeline, subscription: Subscription, delivery: Delivery, end: Event) -> Says:
    """Judge what is owed to a consumer that came since, and kept having permits for it."""
    fails_over = subscription.kind == "Failover"
    delay_ns = timeline.topology.settings.failover_delay_ms * MS if fails_over else 0
    since = [member for member in subscription.members if member.joined.seq > end.seq]
    for heir in since if subscription.kind not in _ALONE or len(since) == 1 else ():
        if permits := permits_left(timeline, heir, heir.joined.t_ns + delay_ns):
            yield breach(
                "never-again",
                f"{subscription}: entry {name_of(delivery.position)} had been sent and was unacknowledged when its "
                f"broker ended at {ms(end.t_ns)}; expected it at {heir}; it was never sent there, with {permits} "
                "permits left",
                *(delivery.frame, end, heir.joined),
            )
            return
