from __future__ import annotations

from itertools import islice

from assay_conformance.model.event import Fate
from assay_conformance.pulsar.timeline import (
    REDELIVER,
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
from assay_conformance.pulsar.timeline.dispatching import (
    Assemblers,
    may_wait_or_vanish,
    permits_left,
    undispatchable_chunk,
)


@check("subscription.shared-entry-at-one-consumer")
def shared_entry_at_one_consumer(timeline: Timeline) -> Says:
    """subscription.shared-entry-at-one-consumer: an entry of a Shared subscription is at one consumer at a time;
    unacknowledged entries of a consumer that leaves go to the others, as far as they have permits.

    Where rates, delays or limits of unacknowledged messages may hold an entry back, only the first part is judged. The
    chunks of a message wait for permits of the consumer that got the earlier ones. A frame that a fault duplicates is
    read twice, and an entry whose redelivery is requested twice may have been sent again in between. A chunk whose
    first chunk is acknowledged, or is not stored before it, is never delivered by a broker of Pulsar 4.0
    (SharedConsumerAssignor), nor is what is stored after it.
    """
    for subscription in timeline.steady_subscriptions:
        if "Shared" in dict(subscription.kinds).values():
            passed_on = set[int]()
            yield from each([subscription], _one_at_a_time, timeline, passed_on)
            if not _may_stay(timeline, subscription):
                holders = Assemblers(subscription)
                yield from each(subscription.members, _left_behind, timeline, subscription, holders, passed_on)


def _one_at_a_time(timeline: Timeline, passed_on: set[int], subscription: Subscription) -> Says:
    """Judge each dispatch. `passed_on`: by `id`, deliveries to consumers that left, once another one got them."""
    for member, delivery in subscription.served:
        frame = delivery.frame
        for other, earlier in subscription.out_before(delivery) if subscription.kind_at(frame) == "Shared" else ():
            if other is member or id(earlier) in passed_on:
                continue
            if not other.lives(frame):
                passed_on.add(id(earlier))
                yield Exercised(frame)
            elif not _may_have_returned(timeline, other, delivery):
                yield breach(
                    "at-two-consumers",
                    f"{subscription}: entry {name_of(delivery.position)} went to {member} at {ms(frame.t_ns)}; "
                    f"expected it to stay at {other}, which got it at {ms(earlier.frame.t_ns)} and had not returned it",
                    *(earlier.frame, frame),
                )


def _may_have_returned(timeline: Timeline, member: Member, delivery: Delivery) -> bool:
    """Return whether a request for redelivery that a fault duplicated is about it."""
    requests = timeline.consumer_sessions.frames(member.session, REDELIVER)
    twice = (one for one in requests if one.fate is Fate.DUPLICATED and one.seq < delivery.frame.seq)
    return any(not one.ids or delivery.position in [id.position for id in one.ids] for one in twice)


def _may_stay(timeline: Timeline, subscription: Subscription) -> bool:
    """Return whether an entry may stay with a consumer that left.

    What a broker does with an ACK that a fault altered, and with the permits after it, is not judged either.
    """
    if subscription.over is not None or subscription.kind != "Shared":
        return True
    altered = (frame for frame in timeline.events.frames("ACK") if frame.fate is Fate.ALTERED)
    sessions = (timeline.consumer_sessions.of(frame) for frame in altered)
    is_altered = any(one is not None and one.subscription == subscription.name for one in sessions)
    return is_altered or may_wait_or_vanish(timeline.view, subscription.topic)


def _left_behind(
    timeline: Timeline, subscription: Subscription, holders: Assemblers, passed_on: set[int], member: Member
) -> Says:
    end, last = member.left, timeline.ended
    held = [one for one in member.out(last).values() if subscription.is_unacked(one, last)] if end is not None else []
    held = [one for one in held if id(one) not in passed_on]
    if end is None or not held:
        return
    never, gone_ns = undispatchable_chunk(timeline, subscription), end.t_ns
    successors = [(one, left) for one in subscription.members if (left := permits_left(timeline, one, gone_ns))]
    for delivery in held:
        if never is not None and delivery.position > never:
            continue
        takers = (one for one in successors if holders.may_take(one[0], delivery))
        for taker, permits in islice(takers, 1):
            yield breach(
                "left-behind",
                f"{subscription}: entry {name_of(delivery.position)} was unacknowledged at {member}, which left at "
                f"{ms(end.t_ns)}; expected it at another consumer; it never came to {taker}, which had {permits} "
                "permits left",
                *(delivery.frame, end),
            )
            return
