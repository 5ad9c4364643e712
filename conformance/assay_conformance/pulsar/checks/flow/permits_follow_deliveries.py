from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from assay_conformance.model.event import Received
from assay_conformance.pulsar.timeline import (
    ConsumerSession,
    Delivery,
    Exercised,
    Grant,
    Says,
    Timeline,
    breach,
    check,
    ms,
)

_BESIDES: Final = 16
"""Messages beside a small queue: Go puts ten messages into the application's channel, whatever its queue size."""


class _Granted(NamedTuple):
    """A later FLOW of a session. `came`: how many of the session's messages had arrived by then, counting only those
    that the application received sooner or later; `most`: how many of these may still wait in the client; `due`: the
    delivery of the first one beyond that, None where there is none."""

    grant: Grant
    came: int
    most: int
    due: Received | None


def _granted(timeline: Timeline) -> Iterator[_Granted]:
    given: dict[ConsumerSession, list[Delivery]] = {}
    for delivery in timeline.deliveries if timeline.accounts else ():
        if delivery.received:
            given.setdefault(delivery.session, []).append(delivery)
    for account in timeline.accounts:
        deliveries = given.get(account.session, [])
        frames = [delivery.frame.seq for delivery in deliveries]
        counts = list(accumulate((len(delivery.received) for delivery in deliveries), initial=0))
        handed = sorted((message for delivery in deliveries for message in delivery.received), key=_given_ns)
        yield from (_of(grant, counts[bisect_left(frames, grant.frame.seq)], handed) for grant in account.grants[1:])


def _of(grant: Grant, came: int, handed: Sequence[Received]) -> _Granted:
    queue = grant.account.queue
    most = max(2 * queue, queue + _BESIDES) - grant.balance.available
    return _Granted(grant, came, most, handed[came - most - 1] if came > most else None)


def _given_ns(message: Received) -> int:
    """Return when the application got a message: with a handler, when that was called."""
    return message.t_ns if message.called_ns is None else message.called_ns


@check("flow.permits-follow-deliveries", of=_granted)
def permits_follow_deliveries(timeline: Timeline, granted: _Granted) -> Says:
    """flow.permits-follow-deliveries: a consumer grants permits again for messages that its application received, so
    that open permits and messages waiting in the client never exceed its receiver queue and a second one after it.

    Only messages that the application received sooner or later are counted: the client drops none of those.
    """
    grant, came, most, due = granted
    flow, account = grant.frame, grant.account
    if due is None or not timeline.bounds.is_overdue("answer", flow.t_ns, _given_ns(due), what="a delivery"):
        yield Exercised(flow)
        return
    yield breach(
        "ahead-of-application",
        f"consumer {account.handle} with a receiver queue of {account.queue} granted {grant.permits} permits at "
        f"{ms(flow.t_ns)}, which made {grant.balance.available} open permits; expected at most {max(0, most)} "
        f"messages to wait in the client then; more did: of {came} messages that had arrived, the application received "
        f"number {came - most} only at {ms(_given_ns(due))}",
        *(account.grants[0].frame, flow, due),
    )
