"""subscription.retains-until-acked"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay_conformance.model.case import Who
from assay_conformance.model.event import Cursor, Event, Frame, Position, ReadBack, Stepped, Stored
from assay_conformance.model.policy import Policies, Retention
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import (
    MS,
    TOLERANCES,
    Exercised,
    Member,
    Says,
    Subscription,
    Timeline,
    breach,
    check,
    each,
    ms,
)
from assay_conformance.pulsar.timeline.subscriptions import SETTLED_NS

_MS_PER_S: Final = 1_000

_IN_ORDER: Final = ("Exclusive", "Failover")


@check("subscription.retains-until-acked")
def retains_until_acked(timeline: Timeline) -> Says:
    """subscription.retains-until-acked: a topic keeps what a durable subscription has not acknowledged, and, without
    retention, nothing else.

    Judged by the first entry that a subscription gets in order, when it is new or its consumer comes back. Time to live
    is judged once it and the broker's check interval are over. Deletion is judged where nothing is retained, some time
    after the topic was loaded again: brokers delete in the background.
    """
    begun = list(_begun(timeline))
    new = [one for one in begun if one.is_new]
    yield from each(begun, _nothing_expired, timeline)
    yield from each(new, _nothing_is_missing, timeline)
    yield from each(new, _nothing_else_is_kept, timeline)
    yield from each(timeline.events.of(Cursor), _backlog_counts_entries, timeline)


@dataclass(frozen=True, slots=True)
class _Begun:
    """The first entry that a consumer was sent, on a durable subscription that is served in order and was not sought.
    `log`: what the topic held by then."""

    subscription: Subscription
    member: Member
    frame: Frame
    first: Stored
    log: Sequence[Stored]

    @property
    def began(self) -> Frame:
        """The subscription let in its first consumer."""
        return self.subscription.members[0].joined

    @property
    def is_new(self) -> bool:
        """Whether the subscription was sent nothing before, and begins at the earliest entry."""
        is_first = self.subscription.deliveries[0].frame is self.frame and not self.frame.redelivery_count
        return is_first and _is_from_the_beginning(self.subscription)

    @property
    def was_let_in(self) -> str:
        """For sentences."""
        return f"{self.subscription}: {self.member} was admitted at {ms(self.member.joined.t_ns)} and"


def _begun(timeline: Timeline) -> Iterator[_Begun]:
    logs = timeline.once(_logs)
    for subscription in _subscriptions(timeline):
        log = logs.get(subscription.topic, [])
        stored, topic = {entry.id.position: entry for entry in reversed(log)}, (subscription.topic, subscription.name)
        sought = timeline.once(_sought).get(topic)
        for member in subscription.members if subscription.durable else ():
            frame = member.deliveries[0].frame if member.deliveries else None
            first = None if frame is None else stored.get(member.deliveries[0].position)
            if frame is None or first is None or subscription.kind_at(frame) not in _IN_ORDER:
                continue
            if sought is None or sought.seq > frame.seq:
                yield _Begun(subscription, member, frame, first, [entry for entry in log if entry.seq < frame.seq])


def _subscriptions(timeline: Timeline) -> list[Subscription]:
    """Those of topics whose policies no step changes, or from which nothing goes by itself."""
    changed = [step.args.get("topic") for step in timeline.view.case.steps if step.verb in ("set_policy", "delete")]
    steady = timeline.steady_subscriptions
    unchanged = [one for one in timeline.subscriptions if base_topic(one.topic) not in changed]
    return steady if None in changed else unchanged


def _logs(timeline: Timeline) -> dict[str, list[Stored]]:
    found: dict[str, list[Stored]] = {}
    for entry in timeline.events.of(Stored):
        found.setdefault(entry.topic, []).append(entry)
    return found


def _sought(timeline: Timeline) -> dict[tuple[str, str], Frame]:
    """Topic and name of a subscription -> its first SEEK: it begins elsewhere from there on."""
    found: dict[tuple[str, str], Frame] = {}
    for seek in timeline.events.frames("SEEK"):
        session = timeline.consumer_sessions.of(seek)
        if session is not None:
            found.setdefault((session.topic, session.subscription), seek)
    return found


# --- what is kept, and what is deleted ---


def _nothing_is_missing(timeline: Timeline, begun: _Begun) -> Says:
    """A new subscription begins no later than with the first entry that another one has not acknowledged."""
    first, frame = begun.first, begun.frame
    others = [one for one in _durable(timeline, begun.first.topic, frame) if one is not begun.subscription]
    others = [one for one in others if one.members and one.members[0].joined.seq < frame.seq]
    for entry in begun.log:
        holder = next((one for one in others if _needs(one, entry, frame)), None)
        if holder is None or _is_old(timeline, entry, frame.t_ns):
            continue
        if entry.id.position < first.id.position:
            yield breach(
                "deleted-too-early",
                f"{begun.was_let_in} begins at the earliest entry; expected {_name(entry)}, which subscription "
                f"{holder.name} has not acknowledged, to be kept; it was sent {_name(first)} first",
                *(entry, frame),
            )
        elif any(entry.id.position in acked for acked in _acked_at_unload(timeline, first.topic, frame)):
            yield Exercised(frame)
        return


def _durable(timeline: Timeline, topic: str, at: Event) -> list[Subscription]:
    """Those that there were on a topic at an event."""
    there = (one for one in _subscriptions(timeline) if one.topic == topic and one.durable)
    return [one for one in there if one.asked[0].session.request.seq < at.seq and not _is_over(one, at)]


def _is_over(subscription: Subscription, at: Event) -> bool:
    return subscription.over is not None and subscription.over.seq < at.seq


def _needs(subscription: Subscription, entry: Stored, at: Event) -> bool:
    due = _is_from_the_beginning(subscription) or subscription.members[0].joined.t_ns < entry.t_ns
    return due and not subscription.is_acked(entry.id.position, at)


def _is_from_the_beginning(subscription: Subscription) -> bool:
    return subscription.members[0].session.request.fields.get("initialPosition") == "Earliest"


def _unload(timeline: Timeline, topic: str, before: Event) -> Stepped | None:
    """The last step that unloaded a topic: its ledger is closed then, and may be deleted."""
    found = None
    for event in timeline.events.of(Stepped):
        step = timeline.view.case.step(event.step)
        is_unload = step is not None and step.who is Who.BROKER and step.verb == "unload" and not event.skipped
        if is_unload and step is not None and str(step.args.get("topic")) == topic and event.seq < before.seq:
            found = event
    return found


def _acked_at_unload(timeline: Timeline, topic: str, before: Event) -> list[set[Position]]:
    """What each subscription had acknowledged then; what crosses the unload is lost in it."""
    unload = _unload(timeline, topic, before)
    there = [] if unload is None else _durable(timeline, topic, unload)
    known_ns = 0 if unload is None else unload.t_ns - SETTLED_NS
    return [{position for position, one in its.acked.items() if one.ack.t_ns <= known_ns} for its in there]


def _nothing_else_is_kept(timeline: Timeline, begun: _Begun) -> Says:
    """Without retention it does not begin with an entry that all had acknowledged when the topic was unloaded."""
    first, frame = begun.first, begun.frame
    unload, policies = _unload(timeline, first.topic, frame), _policies(timeline, first.topic)
    if unload is None or policies is None or policies.retention != Retention():
        return
    if not timeline.bounds.is_past("answer", _loaded_ns(timeline, begun, unload), begun.began.t_ns):
        return
    ledgers: dict[int, set[Position]] = {}
    for entry in begun.log:
        if entry.t_ns <= unload.t_ns:
            ledgers.setdefault(entry.id.ledger, set()).add(entry.id.position)
    acked = _acked_at_unload(timeline, first.topic, frame)
    # Entries are deleted by ledger.
    free = {ledger for ledger, positions in ledgers.items() if all(positions <= its for its in acked)}
    gone = [entry for entry in begun.log if entry.id.ledger in free and entry.t_ns < unload.t_ns]
    if gone:
        yield Exercised(frame)
    if first in gone:
        yield breach(
            "kept",
            f"{begun.was_let_in} was sent {_name(first)}; expected it to be deleted, since every subscription had "
            f"acknowledged it when the topic was unloaded at {ms(unload.t_ns)} and nothing is retained",
            *(first, unload, frame),
        )


def _loaded_ns(timeline: Timeline, begun: _Begun, unload: Stepped) -> int:
    """The first sign that the topic was loaded after an unload. One that registers before the step ends was closed with
    the topic, and is one."""
    subscriptions = [one for one in _subscriptions(timeline) if one.topic == begun.first.topic]
    if any(one.living(unload) for one in subscriptions if not _is_over(one, unload)):
        return unload.t_ns
    joined = (member.joined for one in subscriptions for member in one.members)
    signs: list[Event] = [*begun.log, *joined]
    later = (sign for sign in signs if unload.seq < sign.seq < begun.frame.seq)
    return min(later, key=lambda sign: sign.seq, default=begun.began).t_ns


# --- time to live ---


def _nothing_expired(timeline: Timeline, begun: _Begun) -> Says:
    """A consumer that comes back begins after the entries that have expired meanwhile."""
    first, frame = begun.first, begun.frame
    ttl_s, joined_ns, began_ns = _ttl_s(timeline, first.topic), begun.member.joined.t_ns, begun.began.t_ns
    if not ttl_s or began_ns == joined_ns:
        return
    if not _is_old(timeline, first, joined_ns):
        if any(_is_old(timeline, entry, joined_ns) for entry in begun.log):
            yield Exercised(frame)
    elif _is_due(timeline, first.topic, joined_ns - began_ns):
        yield breach(
            "not-expired",
            f"{begun.was_let_in} was sent {_name(first)}, stored at {ms(first.t_ns)}; expected it to have expired "
            f"after its time to live of {ttl_s} s",
            *(first, frame),
        )


def _is_old(timeline: Timeline, entry: Stored, now_ns: int) -> bool:
    """Whether it has certainly expired, and the broker has checked since."""
    return _is_due(timeline, entry.topic, now_ns - entry.t_ns)


def _is_due(timeline: Timeline, topic: str, age_ns: int) -> bool:
    """The broker's check covers existing subscriptions: a younger one may not have been checked yet."""
    ttl_s, check_ms = _ttl_s(timeline, topic), timeline.view.case.topology.settings.expiry_check_ms
    due_ms = ttl_s * _MS_PER_S + 2 * check_ms + TOLERANCES["answer"].slack_ms
    return ttl_s > 0 and age_ns > due_ms * MS


def _ttl_s(timeline: Timeline, topic: str) -> int:
    policies = _policies(timeline, topic)
    return (policies.message_ttl_s or 0) if policies is not None else 0


def _policies(timeline: Timeline, topic: str) -> Policies | None:
    topology = timeline.view.case.topology
    known = topology.named(topic)
    return None if known is None else topology.policies_of(known)


# --- backlog ---


def _backlog_counts_entries(timeline: Timeline, cursor: Cursor) -> Says:
    """Where a topic has batches, each counts as one."""
    log = timeline.once(_logs).get(cursor.topic, ())
    held = [one for one in timeline.events.of(ReadBack) if one.topic == cursor.topic][-1:]
    mark = (-1, -1) if cursor.mark_delete is None else cursor.mark_delete.position
    acked = {id.position for id in cursor.acked}
    for read in held if any(entry.meta.messages > 1 for entry in log) else ():
        left = [id for id in read.entries if id.position > mark and id.position not in acked]
        if cursor.backlog != len(left):
            yield breach(
                "backlog-miscounted",
                f"the broker reports a backlog of {cursor.backlog} for subscription {cursor.subscription} of topic "
                f"{cursor.topic}; expected {len(left)}, the number of unacknowledged entries, in which a batch counts "
                "as one",
                *(cursor, read),
            )


def _name(entry: Stored) -> str:
    return f"entry {entry.id.name}"
