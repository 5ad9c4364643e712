from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.loading import BrokerEnds
from assay_conformance.model.event import Frame
from assay_conformance.model.fault import Direction
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
from assay_conformance.pulsar.timeline.subscriptions import SETTLED_NS


def _resumed(timeline: Timeline) -> Iterator[tuple[Subscription, Member]]:
    """Yield members that joined when something had been sent to their subscription."""
    for subscription in timeline.steady_subscriptions:
        for member in subscription.members if subscription.durable and subscription.deliveries else ():
            is_new = not _was_there(subscription, member)
            if (
                is_new
                and subscription.kind_at(member.joined) == "Exclusive"
                and _has_begun(subscription, member.joined)
            ):
                yield subscription, member


def _was_there(subscription: Subscription, member: Member) -> bool:
    """Return whether it was subscribed on its connection already: the broker lets it in, and goes on where it was."""
    ids = (member.session.conn, member.session.consumer_id)
    before = (one for one in subscription.members if one.joined.seq < member.joined.seq)
    same = (one for one in before if (one.session.conn, one.session.consumer_id) == ids)
    return any(one.left is None or one.left.seq > member.joined.seq for one in same)


def _has_begun(subscription: Subscription, joined: Frame) -> bool:
    was_sent = subscription.deliveries[0].frame.seq < joined.seq
    acked = next(iter(subscription.acked.values()), None)
    return was_sent and ((acked is not None and acked.ack.seq < joined.seq) or subscription.has_unacked(joined))


@check("subscription.resumes-at-first-unacked", of=_resumed)
def resumes_at_first_unacked(timeline: Timeline, resumed: tuple[Subscription, Member]) -> Says:
    """subscription.resumes-at-first-unacked: a consumer that joins is sent first what is unacknowledged, in order, and
    begins with nothing that is acknowledged. Judged for Exclusive subscriptions, which are delivered in order. A broker
    that crashed may have lost the acknowledgments of its last second."""
    subscription, member = resumed
    due, may_forget = HandOver(subscription, member.joined), BrokerEnds(timeline.view.case).possible
    for place, delivery in enumerate(member.deliveries):
        frame, position = delivery.frame, delivery.position
        if place == 0:
            yield Exercised(frame)
        missed = due.passed_over(delivery)
        if missed is not None:
            what = f"before {name_of(missed.position)}, which is unacknowledged"
            yield _breach("passed-over", what, subscription, member, missed, delivery)
        elif place == 0 and subscription.is_acked(position, frame) and not may_forget:
            acked, ack = subscription.acked[position]
            if not _crossed(subscription, ack, frame) and not _overtaken(member, ack, frame):
                yield _breach("acked-again", "which is acknowledged", subscription, member, acked, delivery)


def _crossed(subscription: Subscription, ack: Frame, frame: Frame) -> bool:
    """Return whether the acknowledgment may have reached a broker that was closing the consumer."""
    ends = [end for member in subscription.members if isinstance(end := member.left, Frame) and end.seq < frame.seq]
    closes = [end.t_ns for end in ends if end.dir is Direction.TO_CLIENT]
    return any(0 <= close_ns - ack.t_ns < SETTLED_NS for close_ns in closes)


def _overtaken(member: Member, ack: Frame, frame: Frame) -> bool:
    """Return whether the consumer acknowledged the entry while its first permits were served: it had received the entry
    before, and ACK and FLOW may have arrived together, FLOW first."""
    return member.joined.t_ns <= ack.t_ns and frame.t_ns - ack.t_ns < SETTLED_NS


def _breach(
    code: str, what: str, subscription: Subscription, member: Member, earlier: Delivery, delivery: Delivery
) -> Breach:
    return breach(
        code,
        f"{subscription}: {member} was admitted at {ms(member.joined.t_ns)}; expected the first unacknowledged entry "
        f"first; it was sent entry {name_of(delivery.position)}, {what}",
        *(earlier.frame, member.joined, delivery.frame),
    )
