from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.subscription._hand_over import HandOver
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
    name_of,
)

_CHANGE = "ACTIVE_CONSUMER_CHANGE"


def _announced(timeline: Timeline) -> list[Subscription]:
    return timeline.steady_subscriptions if timeline.events.frames(_CHANGE) else []


@check("subscription.failover-redelivers-unacked", of=_announced)
def failover_redelivers_unacked(timeline: Timeline, subscription: Subscription) -> Says:
    """subscription.failover-redelivers-unacked: a consumer that becomes active is sent the unacknowledged entries
    first, in order. Judged by what the broker announces: ACTIVE_CONSUMER_CHANGE names the active consumer."""
    active: Member | None = None
    served: Member | None = None
    due = HandOver(subscription, subscription.asked[0].session.request)
    for member, event in _in_order(timeline, subscription):
        if isinstance(event, Frame):
            active, due = member, HandOver(subscription, event)
        elif subscription.kind_at(event.frame) != "Failover" or active is None:
            continue
        elif member is not active:
            if active.lives(event.frame):
                yield _two_active(subscription, member, active, event)
        else:
            if due.is_due(event.frame) and served is not member:
                yield Exercised(event.frame)
            served = member
            missed = due.passed_over(event)
            if missed is not None:
                yield breach(
                    "passed-over",
                    f"{subscription}: {member} became active and was sent entry {name_of(event.position)} at "
                    f"{ms(event.frame.t_ns)}; expected {name_of(missed.position)} before it, which is unacknowledged",
                    *(missed.frame, event.frame),
                )


def _in_order(timeline: Timeline, subscription: Subscription) -> list[tuple[Member, Frame | Delivery]]:
    """Return each change to an active member, and each delivery."""
    found: list[tuple[Member, Frame | Delivery]] = [*subscription.served, *_changes(timeline, subscription)]
    return sorted(found, key=lambda one: one[1].seq if isinstance(one[1], Frame) else one[1].frame.seq)


def _changes(timeline: Timeline, subscription: Subscription) -> Iterator[tuple[Member, Frame]]:
    for member in subscription.members:
        for frame in timeline.consumer_sessions.frames(member.session, _CHANGE):
            if frame.at_broker and frame.fields.get("is_active") and frame.seq > member.joined.seq:
                yield member, frame


def _two_active(subscription: Subscription, member: Member, active: Member, delivery: Delivery) -> Breach:
    return breach(
        "two-active",
        f"{subscription}: {member} was sent an entry at {ms(delivery.frame.t_ns)}; expected entries for {active} only, "
        "which ACTIVE_CONSUMER_CHANGE had named",
        *(active.joined, delivery.frame),
    )
