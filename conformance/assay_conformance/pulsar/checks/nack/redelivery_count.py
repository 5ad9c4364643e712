from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.ledger.clauses import SHARED_TYPES
from assay_conformance.model.event import Frame, Position
from assay_conformance.model.topic_names import base_topic
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
    ms,
)


@dataclass(slots=True)
class _Count:
    """Of one entry: the last MESSAGE with it, how often it was requested since, and how many of the requests that its
    count includes had not been answered by then."""

    frame: Frame
    asked: int = 0
    ahead: int = 0


@check("nack.redelivery-count", of=lambda timeline: timeline.subscriptions)
def redelivery_count(timeline: Timeline, subscription: Subscription) -> Says:
    """nack.redelivery-count: the redelivery_count of an entry starts at 0, and is one more each time a consumer
    requested its redelivery.

    It is kept while a consumer is attached; brokers differ in whether the end of a consumer counts as a request for its
    unacknowledged entries. Where one ended unnoticed, in a black hole, it is not known which consumers are attached. A
    broker reads the count when it writes the MESSAGE (Pulsar: PulsarCommandSenderImpl), so a request that comes between
    the dispatch and the writing is counted in both this MESSAGE and the one it brings about.
    """
    if base_topic(subscription.topic) in timeline.shrinking:
        return
    counts: dict[Position, _Count] = {}
    for frame, member, what in _steps(timeline, subscription):
        if isinstance(what, Delivery):
            is_sure = not subscription.out_before(what) and not any(frame.ack_sets)
            yield from _sent(subscription, member, frame, counts, is_sure=is_sure)
        elif isinstance(what, list):
            for position in what:
                if position in counts:
                    counts[position].asked += 1
        elif not subscription.is_settled(frame):
            return
        elif subscription.is_alone(member, frame):
            counts.clear()


def _steps(
    timeline: Timeline, subscription: Subscription
) -> list[tuple[Frame, Member, Delivery | list[Position] | None]]:
    """Return what each member was sent, the positions that it requested, and when it was admitted."""
    found: list[tuple[Frame, Member, Delivery | list[Position] | None]] = []
    for member in subscription.members:
        found.append((member.joined, member, None))
        if member.session.request.fields.get("subType", "Shared") in SHARED_TYPES:
            found += ((one.frame, member, one) for one in member.deliveries)
            found += ((frame, member, named) for frame, named in _requests(timeline, subscription, member))
    return sorted(found, key=lambda step: step[0].seq)


def _requests(timeline: Timeline, subscription: Subscription, member: Member) -> Iterator[tuple[Frame, list[Position]]]:
    for frame in timeline.consumer_sessions.frames(member.session, REDELIVER):
        over = subscription.over
        if frame.at_broker and member.joined.seq < frame.seq and (over is None or frame.seq < over.seq):
            named = [id.position for id in frame.ids]
            yield frame, named or [one.position for one in member.deliveries if one.given_back is frame]


def _sent(
    subscription: Subscription, member: Member, frame: Frame, counts: dict[Position, _Count], *, is_sure: bool
) -> Says:
    """Judge a dispatch.

    Of an entry that is acknowledged in part it is not known whether a consumer still has it (not `is_sure`).
    """
    position, count = frame.ids[0].position, frame.redelivery_count or 0
    before, counts[position] = counts.get(position), _Count(frame)
    least = most = earlier = 0
    if before is not None:
        earlier = before.frame.redelivery_count or 0
        least, most = earlier + 1 - before.ahead, earlier + max(1, before.asked)
        counts[position].ahead = max(0, count - least)
    if not is_sure:
        least = min(least, -1 if before is None else earlier)
    elif before is not None:
        yield Exercised(frame)
    if not least <= count <= most:
        yield breach(
            "miscounted",
            f"{subscription}: entry {position[0]}:{position[1]} was sent to {member} at {ms(frame.t_ns)} with "
            f"redelivery_count {count}, expected {most if least == most else f'{least} to {most}'}",
            *(None if before is None else before.frame, frame),
        )
