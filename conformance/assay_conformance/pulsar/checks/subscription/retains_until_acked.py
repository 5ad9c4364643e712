from __future__ import annotations

from typing import Final

from assay_conformance.model.event import Cursor, Event, Position, ReadBack, Stored
from assay_conformance.model.policy import Policies, Retention
from assay_conformance.pulsar.checks.subscription._retained import (
    Begun,
    acked_at_unload,
    beginnings,
    durable_subscriptions,
    is_from_the_beginning,
    last_unload,
    loaded_ns,
)
from assay_conformance.pulsar.timeline import (
    MS,
    TOLERANCES,
    Exercised,
    Says,
    Subscription,
    Timeline,
    breach,
    check,
    each,
    ms,
)

_MS_PER_S: Final = 1_000


@check("subscription.retains-until-acked")
def retains_until_acked(timeline: Timeline) -> Says:
    """subscription.retains-until-acked: a topic keeps what a durable subscription has not acknowledged, and, without
    retention, nothing else.

    Judged by the first entry that a subscription gets in order, when it is new or its consumer comes back. Time to live
    is judged once it and the broker's check interval are over. Deletion is judged where nothing is retained, some time
    after the topic was loaded again: brokers delete in the background.
    """
    begun = list(beginnings(timeline))
    new = [one for one in begun if one.is_new]
    yield from each(begun, _nothing_expired, timeline)
    yield from each(new, _nothing_is_missing, timeline)
    yield from each(new, _nothing_else_is_kept, timeline)
    yield from each(timeline.events.of(Cursor), _backlog_counts_entries, timeline)


# --- what is kept, and what is deleted ---


def _nothing_is_missing(timeline: Timeline, begun: Begun) -> Says:
    """Judge whether a new subscription begins no later than with the first entry that another has not acknowledged."""
    first, frame = begun.first, begun.frame
    others = [one for one in durable_subscriptions(timeline, first.topic, frame) if one is not begun.subscription]
    others = [one for one in others if one.members and one.members[0].joined.seq < frame.seq]
    for entry in begun.log:
        holder = next((one for one in others if _needs(one, entry, frame)), None)
        if holder is None or _is_old(timeline, entry, frame.t_ns):
            continue
        if entry.id.position < first.id.position:
            yield breach(
                "deleted-too-early",
                f"{begun.was_admitted} begins at the earliest entry; expected {_name(entry)}, which subscription "
                f"{holder.name} has not acknowledged, to be kept; it was sent {_name(first)} first",
                *(entry, frame),
            )
        elif any(entry.id.position in acked for acked in acked_at_unload(timeline, first.topic, frame)):
            yield Exercised(frame)
        return


def _needs(subscription: Subscription, entry: Stored, at: Event) -> bool:
    due = is_from_the_beginning(subscription) or subscription.members[0].joined.t_ns < entry.t_ns
    return due and not subscription.is_acked(entry.id.position, at)


def _nothing_else_is_kept(timeline: Timeline, begun: Begun) -> Says:
    """Judge whether it begins, without retention, after what all had acknowledged when the topic was unloaded."""
    first, frame = begun.first, begun.frame
    unload, policies = last_unload(timeline, first.topic, frame), _policies(timeline, first.topic)
    if unload is None or policies is None or policies.retention != Retention():
        return
    if not timeline.bounds.is_past("answer", loaded_ns(timeline, begun, unload), begun.began.t_ns):
        return
    ledgers: dict[int, set[Position]] = {}
    for entry in begun.log:
        if entry.t_ns <= unload.t_ns:
            ledgers.setdefault(entry.id.ledger, set()).add(entry.id.position)
    acked = acked_at_unload(timeline, first.topic, frame)
    # Entries are deleted by ledger.
    free = {ledger for ledger, positions in ledgers.items() if all(positions <= its for its in acked)}
    gone = [entry for entry in begun.log if entry.id.ledger in free and entry.t_ns < unload.t_ns]
    if gone:
        yield Exercised(frame)
    if first in gone:
        yield breach(
            "kept",
            f"{begun.was_admitted} was sent {_name(first)}; expected it to be deleted, since every subscription had "
            f"acknowledged it when the topic was unloaded at {ms(unload.t_ns)} and nothing is retained",
            *(first, unload, frame),
        )


# --- time to live ---


def _nothing_expired(timeline: Timeline, begun: Begun) -> Says:
    """Judge whether a consumer that comes back begins after the entries that have expired meanwhile."""
    first, frame = begun.first, begun.frame
    ttl_s, joined_ns, began_ns = _ttl_s(timeline, first.topic), begun.member.joined.t_ns, begun.began.t_ns
    if not ttl_s or began_ns == joined_ns:
        return
    if not _is_old(timeline, first, joined_ns):
        if _is_old(timeline, begun.stored[0], joined_ns):
            yield Exercised(frame)
    elif _is_due(timeline, first.topic, joined_ns - began_ns):
        yield breach(
            "not-expired",
            f"{begun.was_admitted} was sent {_name(first)}, stored at {ms(first.t_ns)}; expected it to have expired "
            f"after its time to live of {ttl_s} s",
            *(first, frame),
        )


def _is_old(timeline: Timeline, entry: Stored, now_ns: int) -> bool:
    """Return whether it has certainly expired, and the broker has checked since."""
    return _is_due(timeline, entry.topic, now_ns - entry.t_ns)


def _is_due(timeline: Timeline, topic: str, age_ns: int) -> bool:
    """Return whether it is due: the check covers existing subscriptions, and may have missed a younger one."""
    ttl_s, check_ms = _ttl_s(timeline, topic), timeline.topology.settings.expiry_check_ms
    due_ms = ttl_s * _MS_PER_S + 2 * check_ms + TOLERANCES["answer"].slack_ms
    return ttl_s > 0 and age_ns > due_ms * MS


def _ttl_s(timeline: Timeline, topic: str) -> int:
    policies = _policies(timeline, topic)
    return (policies.message_ttl_s or 0) if policies is not None else 0


def _policies(timeline: Timeline, topic: str) -> Policies | None:
    topology = timeline.topology
    known = topology.named(topic)
    return None if known is None else topology.policies_of(known)


# --- backlog ---


def _backlog_counts_entries(timeline: Timeline, cursor: Cursor) -> Says:
    """Judge the backlog: where a topic has batches, each counts as one."""
    log = timeline.stored_on(cursor.topic)
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
