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
"""Of a small queue: Go hands ten messages to a channel of the application, whatever the size of its queue."""


class _Granted(NamedTuple):
    """A FLOW behind the first of its session. `came`: messages that had come by then, of those that the application was
    given from there; `most`: how many of them may still lie in the client; `due`: the first that may not, as the
    application got it; None where all of them may."""

    grant: Grant
    came: int
    most: int
    due: Received | None


def _granted(timeline: Timeline) -> Iterator[_Granted]:
    given: dict[ConsumerSession, list[Delivery]] = {}
    for delivery in timeline.deliveries if timeline.accounts else ():
        if delivery.handed:
            given.setdefault(delivery.session, []).append(delivery)
    for account in timeline.accounts:
        deliveries = given.get(account.session, [])
        frames = [delivery.frame.seq for delivery in deliveries]
        counts = list(accumulate((len(delivery.handed) for delivery in deliveries), initial=0))
        handed = sorted((message for delivery in deliveries for message in delivery.handed), key=_given_ns)
        yield from (_of(grant, counts[bisect_left(frames, grant.frame.seq)], handed) for grant in account.grants[1:])


def _of(grant: Grant, came: int, handed: Sequence[Received]) -> _Granted:
    queue = grant.account.queue
    most = max(2 * queue, queue + _BESIDES) - grant.balance.outstanding
    return _Granted(grant, came, most, handed[came - most - 1] if came > most else None)


def _given_ns(message: Received) -> int:
    """Return when the application got a message: with a handler, when that was called."""
    return message.t_ns if message.called_ns is None else message.called_ns


@check("flow.permits-follow-deliveries", of=_granted)
def permits_follow_deliveries(timeline: Timeline, granted: _Granted) -> Says:
    """flow.permits-follow-deliveries: a consumer grants permits again for what its application was given, so that the
    permits that are open and what lies in the client never exceed its receiver queue, and another one behind it.

    Of what came only that is counted which the application was given later: the client drops none of it.
    """
    grant, came, most, due = granted
    flow, account = grant.frame, grant.account
    if due is None or not timeline.bounds.is_overdue("answer", flow.t_ns, _given_ns(due), what="a delivery"):
        yield Exercised(flow)
        return
    yield breach(
        "ahead-of-application",
        f"consumer {account.handle} granted {grant.permits} permits at {ms(flow.t_ns)}, when {came} messages had come "
        f"that its application was given and {grant.balance.outstanding} permits were open; expected at most "
        f"{max(0, most)} of them to lie in the client, whose queue is {account.queue}; the application was given "
        f"number {came - most} at {ms(_given_ns(due))}",
        *(account.grants[0].frame, flow, due),
    )
