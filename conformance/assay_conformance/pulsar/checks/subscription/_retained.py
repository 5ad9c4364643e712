"""Where subscriptions begin, and what topics held and had deleted by then."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay_conformance.ledger.clauses import ORDERED_TYPES
from assay_conformance.model.case import Who
from assay_conformance.model.event import Event, Frame, Position, Stepped, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import Entry, Member, Subscription, Timeline, ms
from assay_conformance.pulsar.timeline.subscriptions import SETTLED_NS


class Begun(NamedTuple):
    """The first entry that a consumer was sent, on a durable subscription that is served in order and was not sought.
    `stored`: all that its topic ever held."""

    subscription: Subscription
    member: Member
    frame: Frame
    first: Stored
    stored: Sequence[Stored]

    @property
    def log(self) -> Sequence[Stored]:
        """What the topic held by then."""
        return self.stored[: bisect_left(self.stored, self.frame.seq, key=lambda entry: entry.seq)]

    @property
    def began(self) -> Frame:
        """The subscription admitted its first consumer."""
        return self.subscription.members[0].joined

    @property
    def is_new(self) -> bool:
        """Whether the subscription was sent nothing before, and begins at the earliest entry."""
        is_first = self.subscription.deliveries[0].frame is self.frame and not self.frame.redelivery_count
        return is_first and is_from_the_beginning(self.subscription)

    @property
    def was_admitted(self) -> str:
        """For sentences."""
        return f"{self.subscription}: {self.member} was admitted at {ms(self.member.joined.t_ns)} and"


def beginnings(timeline: Timeline) -> Iterator[Begun]:
    """Yield the beginnings of all consumers, subscription by subscription."""
    for subscription in timeline.once(_subscriptions):
        stored = timeline.stored_on(subscription.topic)
        sought = next(iter(timeline.consumer_sessions.seeks(subscription.topic, subscription.name)), None)
        for member in subscription.members if subscription.durable else ():
            frame = member.deliveries[0].frame if member.deliveries else None
            if frame is None or subscription.kind_at(frame) not in ORDERED_TYPES or (sought and sought.seq < frame.seq):
                continue
            first = timeline.stored_at(Entry(subscription.topic, *member.deliveries[0].position))
            if first is not None:
                yield Begun(subscription, member, frame, first, stored)


def _subscriptions(timeline: Timeline) -> list[Subscription]:
    """Return subscriptions to topics whose policies no step changes, or from which nothing goes by itself."""
    changed = [step.args.get("topic") for step in timeline.view.case.steps if step.verb in ("set_policy", "delete")]
    steady = timeline.steady_subscriptions
    unchanged = [one for one in timeline.subscriptions if base_topic(one.topic) not in changed]
    return steady if None in changed else unchanged


def durable_subscriptions(timeline: Timeline, topic: str, at: Event) -> list[Subscription]:
    """Return the durable subscriptions that existed on a topic at an event."""
    there = (one for one in timeline.once(_subscriptions) if one.topic == topic and one.durable)
    return [one for one in there if one.asked[0].session.request.seq < at.seq and not _is_over(one, at)]


def _is_over(subscription: Subscription, at: Event) -> bool:
    return subscription.over is not None and subscription.over.seq < at.seq


def is_from_the_beginning(subscription: Subscription) -> bool:
    return subscription.members[0].session.request.fields.get("initialPosition") == "Earliest"


def last_unload(timeline: Timeline, topic: str, before: Event) -> Stepped | None:
    """Return the last step that unloaded a topic: its ledger is closed then, and may be deleted."""
    found = None
    for event in timeline.events.of(Stepped):
        step = timeline.view.case.step(event.step)
        is_unload = step is not None and step.who is Who.BROKER and step.verb == "unload" and not event.skipped
        if is_unload and step is not None and str(step.args.get("topic")) == topic and event.seq < before.seq:
            found = event
    return found


def acked_at_unload(timeline: Timeline, topic: str, before: Event) -> list[set[Position]]:
    """Return what each subscription had acknowledged then; what crosses the unload is lost in it."""
    unload = last_unload(timeline, topic, before)
    there = [] if unload is None else durable_subscriptions(timeline, topic, unload)
    known_ns = 0 if unload is None else unload.t_ns - SETTLED_NS
    return [{position for position, one in its.acked.items() if one.ack.t_ns <= known_ns} for its in there]


def loaded_ns(timeline: Timeline, begun: Begun, unload: Stepped) -> int:
    """Return the first sign that the topic was loaded after an unload.

    One that registers before the step ends was closed with the topic, and is one.
    """
    subscriptions = [one for one in timeline.once(_subscriptions) if one.topic == begun.first.topic]
    if any(one.living(unload) for one in subscriptions if not _is_over(one, unload)):
        return unload.t_ns
    joined = (member.joined for one in subscriptions for member in one.members)
    signs: list[Event] = [*begun.log, *joined]
    later = (sign for sign in signs if unload.seq < sign.seq < begun.frame.seq)
    return min(later, key=lambda sign: sign.seq, default=begun.began).t_ns
