from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.ledger.clauses import SHARED_TYPES
from assay_conformance.model.event import Ended, Event, Frame
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.flow._unacked import (
    DispatchStep,
    UnackedMessages,
    held_at_most,
    last_moved,
    steps,
    was_sought,
)
from assay_conformance.pulsar.timeline import (
    REDELIVER,
    Exercised,
    Member,
    Says,
    Subscription,
    Timeline,
    breach,
    charged,
    check,
    each,
    ms,
)
from assay_conformance.pulsar.timeline.limiters import READ_BATCH_ENTRIES


class _Limited(NamedTuple):
    """A subscription with a limit of unacknowledged messages, of each consumer or together; 0 where there is none."""

    subscription: Subscription
    of_consumer: int
    together: int


def _limited(timeline: Timeline) -> Iterator[_Limited]:
    topology = timeline.topology
    policies = {topic.name: topology.policies_of(topic) for topic in topology.topics}
    limits = {
        topic: (max(one.max_unacked_per_consumer or 0, 0), max(one.max_unacked_per_subscription or 0, 0))
        for topic, one in policies.items()
    }
    for subscription in timeline.subscriptions if any(map(any, limits.values())) else ():
        limit = limits.get(base_topic(subscription.topic), (0, 0))
        if (
            any(limit)
            and subscription.kind in SHARED_TYPES
            and base_topic(subscription.topic) not in timeline.shrinking
        ):
            yield _Limited(subscription, *limit)


@check("flow.max-unacked-messages")
def max_unacked_messages(timeline: Timeline) -> Says:
    """flow.max-unacked-messages: a consumer that has too many unacknowledged messages gets no more, and goes on once
    half of them are acknowledged; a subscription likewise.

    Judged where a topic, its namespace or the broker sets a limit; the broker's own are too large for any Case. A
    consumer is looked at before each of its turns, a subscription before every read: what was read by then is still
    sent. A turn is as many entries as there is room for messages, by what an entry has on average: with batches among
    them a consumer may get more than there was room for, though in one turn never more entries than the limit counts.
    """
    for limited in _limited(timeline):
        yield from each([limited], _stays_within, timeline)
        current = limited.subscription.over is None
        yield from each(limited.subscription.members if current else (), _goes_on, timeline, limited)


@dataclass(slots=True)
class _Blocked:
    """Entries sent since a limit was reached: to each consumer that has too many, and to all; None where it is not."""

    members: dict[int, int] = field(default_factory=dict)
    together: int | None = None
    batched: bool = False


def _stays_within(timeline: Timeline, limited: _Limited) -> Says:
    blocked, held = _Blocked(), UnackedMessages()
    for step in steps(timeline, limited.subscription):
        if step.sent is not None:
            blocked.batched = blocked.batched or step.sent.frame.messages > 1
            yield from _consumer_is_within(limited, blocked, held, step)
            yield from _all_are_within(limited, blocked, held, step.sent.frame)
        elif step.frame.command == REDELIVER:
            blocked.members.pop(id(step.member), None)
            blocked.together = None
        held.take(step)


def _consumer_is_within(limited: _Limited, blocked: _Blocked, held: UnackedMessages, step: DispatchStep) -> Says:
    subscription, most, member, frame = limited.subscription, limited.of_consumer, step.member, step.frame
    unacked = held.of(member)
    if not most:
        return
    # A Key_Shared dispatcher that reads for others looks at the room of each (filterAndGroupEntriesForDispatching).
    is_one_of_several = subscription.joined_before(frame) > 1
    if unacked < most if subscription.kind == "Key_Shared" and is_one_of_several else unacked <= most // 2:
        blocked.members.pop(id(member), None)
    since = blocked.members.get(id(member))
    if since is not None and since >= (most - 1 if blocked.batched else 0):
        yield breach(
            "consumer-over-limit",
            f"{subscription}: {member} was sent an entry at {ms(frame.t_ns)} with {unacked} messages unacknowledged; "
            f"expected no dispatch from {most} on until {most // 2} are left",
            *(held.oldest(member), frame),
        )
    if since is not None:
        blocked.members[id(member)] = since + 1
    elif unacked + charged(frame) >= most:
        blocked.members[id(member)] = 0
        yield Exercised(frame)


def _all_are_within(limited: _Limited, blocked: _Blocked, held: UnackedMessages, frame: Frame) -> Says:
    subscription, most = limited.subscription, limited.together
    if not most:
        return
    unacked = sum(held.of(member) for member in subscription.living(frame))
    if blocked.together is not None and unacked < most // 2:
        blocked.together = None
    if blocked.together is not None:
        blocked.together += 1
        if blocked.together == READ_BATCH_ENTRIES:
            yield breach(
                "subscription-over-limit",
                f"{subscription} was sent an entry at {ms(frame.t_ns)} with {unacked} messages unacknowledged at its "
                f"consumers; expected no further read from {most} on; {READ_BATCH_ENTRIES} entries have been sent "
                "since then",
                frame,
            )
    elif unacked + charged(frame) >= most:
        blocked.together = 0
        yield Exercised(frame)


def _goes_on(timeline: Timeline, limited: _Limited, member: Member) -> Says:
    """Judge whether something comes where there are permits, messages and room for them.

    What waits may be of keys that are another consumer's, and is not known of a subscription that was moved.
    """
    subscription = limited.subscription
    end: Event | None = member.session.ended or member.left or next(iter(timeline.events.of(Ended)), None)
    if end is None or (subscription.kind == "Key_Shared" and len(subscription.members) > 1):
        return
    moved = last_moved(timeline, subscription, end)
    if (
        moved is None
        or moved.t_ns > end.t_ns
        or was_sought(timeline, subscription)
        or not _has_room(timeline, limited, member, end)
    ):
        return
    open_ = [one for one in timeline.stored_on(subscription.topic) if one.meta.deliver_at_ms is None]
    due = [one for one in open_ if timeline.bounds.is_past("answer", one.t_ns, end.t_ns)]
    sent, permits = {one.position for one in subscription.deliveries}, timeline.broker_account(member.session).at(end)
    earliest = member.session.request.fields.get("initialPosition") == "Earliest"
    if len(sent) >= len(due) or permits.available <= 0 or not earliest:
        return
    if timeline.bounds.is_overdue("answer", moved.t_ns, end.t_ns, what="a message"):
        held = held_at_most(timeline, subscription, member)
        yield breach(
            "stalled",
            f"{subscription}: {member} had {held} messages unacknowledged and {permits.available} permits from "
            f"{ms(moved.t_ns)} to {ms(end.t_ns)}, with messages waiting in the topic; expected dispatch to go on; it "
            "was sent nothing",
            *(moved, end),
        )


def _has_room(timeline: Timeline, limited: _Limited, member: Member, end: Event) -> bool:
    """Return whether nothing was over a limit at the end of this consumer."""
    subscription, own, together = limited
    there = [other for other in subscription.members if other.left is None or other.left.t_ns >= end.t_ns]
    of_all = sum(held_at_most(timeline, subscription, other) for other in there) if together else 0
    of_it = held_at_most(timeline, subscription, member) if own else 0
    return of_it <= own // 2 and (not together or of_all < together // 2)
