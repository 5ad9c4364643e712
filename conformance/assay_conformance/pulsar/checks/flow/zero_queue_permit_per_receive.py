from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from assay_conformance.checks.consumption import moves_to_dead_letter, plain_acks
from assay_conformance.model.event import Position, Received
from assay_conformance.pulsar.checks.flow._zero_queue import zero_queue_accounts
from assay_conformance.pulsar.timeline import (
    Entry,
    Exercised,
    Grant,
    Says,
    Timeline,
    breach,
    charged,
    check,
    known_owner,
    listens,
    ms,
)
from assay_conformance.pulsar.timeline.readers import is_reader


def _grants(timeline: Timeline) -> Iterator[Grant]:
    accounts = chain(zero_queue_accounts(timeline), zero_queue_accounts(timeline, listening=True))
    return (grant for account in accounts for grant in account.grants)


_NEVER_ASKED: Final[tuple[Sequence[int], Sequence[int]]] = ((), (0,))


def _asked_for(timeline: Timeline) -> dict[int | None, tuple[list[int], list[int]]]:
    """Return by consumer handle its receive calls (`seq`), and how many messages they ask for.

    That is how many those ahead of each, and all, ask for.
    """
    found: dict[int | None, tuple[list[int], list[int]]] = {}
    for call in timeline.events.invokes("receive"):
        calls, sums = found.setdefault(call.handle, ([], [0]))
        calls.append(call.seq)
        sums.append(sums[-1] + int(call.args.get("count", 0)))
    return found


@check("flow.zero-queue-permit-per-receive", of=_grants)
def zero_queue_permit_per_receive(timeline: Timeline, grant: Grant) -> Says:
    """flow.zero-queue-permit-per-receive: a consumer with a receiver queue of 0 grants one permit at a time, and no
    more than the application has called receive for.

    A consumer with a message handler asks by itself: of it one permit at a time is judged.

    A client may drop a message that was acknowledged before, becomes a dead letter, lies before the target of a seek,
    or was read by the reader before: then another permit follows for the receive that waits.
    """
    account, flow, balance = grant.account, grant.frame, grant.balance
    calls, sums = timeline.once(_asked_for).get(account.handle, _NEVER_ASKED)
    asked = sums[bisect_left(calls, flow.seq)]
    received: Sequence[Received] = () if account.consumer is None else timeline.received(account.consumer)
    got = bisect_left(received, account.frames[0].seq, key=lambda one: one.seq)
    if balance.available > 1:
        yield breach(
            "more-than-one",
            f"consumer {account.handle} has a receiver queue of 0 and granted {grant.permits} permits at "
            f"{ms(flow.t_ns)}, which made {balance.available} open permits; expected one",
            *(account.session.request, flow),
        )
    elif account.consumer is not None and listens(account.consumer):
        yield Exercised(flow)
    elif _excess(timeline, grant, got + balance.granted - asked) > 0:
        yield breach(
            "unasked",
            f"consumer {account.handle} has a receiver queue of 0 and granted permit number {balance.granted} of this "
            f"connection at {ms(flow.t_ns)}; expected one permit for each message that the application had asked for: "
            f"{asked} in all, {got} of them received before this connection",
            *(account.session.request, flow),
        )
    else:
        yield Exercised(flow)


def _excess(timeline: Timeline, grant: Grant, beyond: int) -> int:
    """Return how many permits beyond the requests are left when those for lost or dropped messages are taken off."""
    return 0 if beyond <= 0 else beyond - _lost(timeline, grant) - _dropped(timeline, grant)


def _lost(timeline: Timeline, grant: Grant) -> int:
    """Return how many messages came garbled on this connection, or are unreadable by what an ACK says."""
    lost, read = 0, dict[Position, int]()
    for frame in timeline.consumer_sessions.frames(grant.account.session, "MESSAGE", "ACK"):
        if frame.seq > grant.frame.seq or not frame.at_client:
            continue
        if frame.command == "ACK":
            lost += 0 if plain_acks(frame) else sum(read.pop(id.position, 0) for id in frame.ids)
        elif frame.intact is False:
            lost += charged(frame)
        elif frame.ids:
            read[frame.ids[0].position] = charged(frame)
    return lost


def _dropped(timeline: Timeline, grant: Grant) -> int:
    """Return how many messages may have been dropped for good, of those that came and were not delivered.

    They may have come on any connection.
    """
    consumer, flow, kept = grant.account.consumer, grant.frame, Counter[Entry]()
    if consumer is None:
        return 0
    for one in timeline.deliveries:
        if one.came and one.frame.seq < flow.seq and known_owner(one.session, one.frame) is consumer:
            kept[one.entry] += charged(one.frame)
    kept.subtract(
        entry
        for one in timeline.received(consumer)
        if one.seq < flow.seq and (entry := timeline.entry_of(one)) is not None
    )
    may_drop = is_reader(grant.account.session) or moves_to_dead_letter(timeline.view, consumer)
    return sum(count for entry, count in kept.items() if count > 0 and (may_drop or _is_over(timeline, grant, entry)))


def _is_over(timeline: Timeline, grant: Grant, entry: Entry) -> bool:
    """Return whether the application had acknowledged it, or sought after it."""
    consumer = grant.account.consumer
    calls = timeline.calls_about(consumer, entry) if consumer is not None else ()
    acked = any(call.invoke.verb == "ack" and call.invoke.seq < grant.frame.seq for call in calls)
    return acked or (consumer is not None and (entry.ledger, entry.entry) in consumer.sought)
