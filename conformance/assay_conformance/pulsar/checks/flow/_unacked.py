"""What consumers hold unacknowledged, step by step as their broker sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from assay_conformance.model.event import Event, Frame, Position
from assay_conformance.pulsar.timeline import REDELIVER, Delivery, Member, Subscription, Timeline, charged


class DispatchStep(NamedTuple):
    """A frame of a member: a MESSAGE that is `sent`, an ACK or a REDELIVER; `ended`: what it takes out of hands."""

    frame: Frame
    member: Member
    sent: Delivery | None
    ended: Sequence[Delivery]


def steps(timeline: Timeline, subscription: Subscription) -> list[DispatchStep]:
    """Return all that changes what is held, in order."""
    ended: dict[int, list[Delivery]] = {}
    for one in subscription.deliveries:
        ends = [end.seq for end in (one.settled, one.given_back) if end is not None]
        if ends:
            ended.setdefault(min(ends), []).append(one)
    found = []
    for member in subscription.members:
        found += [DispatchStep(one.frame, member, one, ()) for one in member.deliveries]
        for frame in timeline.consumer_sessions.frames(member.session, "ACK", REDELIVER):
            if frame.at_broker:
                found.append(DispatchStep(frame, member, None, ended.get(frame.seq, ())))
    return sorted(found, key=lambda step: step.frame.seq)


class UnackedMessages:
    """What each member holds."""

    def __init__(self) -> None:
        self._out: dict[int, dict[Position, Delivery]] = {}

    def take(self, step: DispatchStep) -> None:
        """Go on by a step."""
        if step.sent is not None:
            self._out.setdefault(id(step.member.session), {})[step.sent.position] = step.sent
        for one in step.ended:
            self._out.get(id(one.session), {}).pop(one.position, None)

    def of(self, member: Member) -> int:
        """Return how many messages, at least: of what members of a batch were acknowledged nothing is counted."""
        return sum(charged(one.frame) for one in self._out.get(id(member.session), {}).values())

    def oldest(self, member: Member) -> Frame | None:
        """Return the MESSAGE that it has held for longest."""
        return next((one.frame for one in self._out.get(id(member.session), {}).values()), None)


def held_at_most(timeline: Timeline, subscription: Subscription, member: Member) -> int:
    """Return how many messages a member holds in the end: a batch of which some were acknowledged may count as if none
    were."""
    held = {one.position: one for one in subscription.deliveries}
    mine = [one for one in held.values() if one.session is member.session]
    gone = dict[Position, int]()
    for other in subscription.members:
        for ack in timeline.consumer_sessions.frames(other.session, "ACK"):
            if ack.at_broker and ack.ack_type == "Individual" and other.takes_acks(ack):
                gone |= dict.fromkeys(_whole_entries(ack), ack.seq)
    for frame in timeline.consumer_sessions.frames(member.session, REDELIVER):
        if frame.at_broker:
            gone |= dict.fromkeys([id.position for id in frame.ids] or held, frame.seq)
    return sum(charged(one.frame) for one in mine if gone.get(one.position, -1) < one.frame.seq)


def last_moved(timeline: Timeline, subscription: Subscription, end: Event) -> Event | None:
    """Return the last event that may have made the broker send something: a consumer that leaves gives room, too."""
    sessions = [member.session for member in subscription.members]
    frames = (frame for one in sessions for frame in timeline.consumer_sessions.frames(one, "FLOW", "ACK", REDELIVER))
    moved: list[Event] = [frame for frame in frames if frame.at_broker]
    moved += [one.frame for one in subscription.deliveries]
    moved += [one.left for one in subscription.members if one.left is not None and one.left.t_ns < end.t_ns]
    return max(moved, key=lambda event: (event.t_ns, event.seq), default=None)


def was_sought(timeline: Timeline, subscription: Subscription) -> bool:
    """Return whether a subscription of this name was ever moved: it begins elsewhere than where it was made."""
    place, sessions = (subscription.topic, subscription.name), timeline.consumer_sessions
    its = (one for one in sessions.all if (one.topic, one.subscription) == place)
    return any(sessions.frames(one, "SEEK", "UNSUBSCRIBE") for one in its)


def _whole_entries(ack: Frame) -> list[Position]:
    """Return the entries that an ACK names without stating which of their members are left."""
    sets = ack.ack_sets
    return [id.position for number, id in enumerate(ack.ids) if not (number < len(sets) and sets[number])]
