from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Event, Handled, Received
from assay_conformance.pulsar.checks.flow._grants import later_grants, until_ns
from assay_conformance.pulsar.timeline import Exercised, Grant, PermitAccount, Says, Timeline, breach, check, each, ms


@check("flow.permits-renewed-at-half-queue")
def permits_renewed_at_half_queue(timeline: Timeline) -> Says:
    """flow.permits-renewed-at-half-queue: once the application has received half a queue of messages, the consumer
    grants permits again; and never fewer at once.

    That it grants them is judged on a consumer's first connection: after a reconnect nothing shows which connection a
    delivery came over. A message given to a handler counts when the handler has returned: C++ grants permits after the
    call (ConsumerImpl::internalListener), Java ahead of it.
    """
    yield from each(later_grants(timeline), _judge_half_a_queue)
    yield from each(_refills(timeline), _follows, timeline)


def _judge_half_a_queue(grant: Grant) -> Says:
    account = grant.account
    if grant.permits >= max(1, account.queue // 2):
        yield Exercised(grant.frame)
        return
    yield breach(
        "in-drips",
        f"consumer {account.handle} granted {grant.permits} permits at {ms(grant.frame.t_ns)}; expected no grant "
        f"before half of its queue of {account.queue} was used",
        *(account.grants[0].frame, grant.frame),
    )


Taken = Received | Handled


class _Refill(NamedTuple):
    """`ripe`: the delivery, or end of a handler call, that made half a queue taken; `then`: the next grant, or where
    the session was over."""

    account: PermitAccount
    ripe: Taken
    then: Event


def _refills(timeline: Timeline) -> Iterator[_Refill]:
    for account in timeline.accounts:
        taken, ripe = 0, None
        for event in _steps(timeline, account) if account.is_first else ():
            if isinstance(event, Taken):
                taken += 1
                ripe = event if ripe is None and taken >= account.refill else ripe
                continue
            if ripe is not None:
                yield _Refill(account, ripe, event)
            # A grant may be seen before the deliveries that led to it.
            taken, ripe = taken - (getattr(event, "permits", None) or 0), None


def _steps(timeline: Timeline, account: PermitAccount) -> list[Event]:
    """Return what the application took, grants but for the first, and ends of the session.

    A consumer of several topics, as with retry letters, has a queue and permits on each.
    """
    session, consumer = account.session, account.consumer
    ends = timeline.consumer_sessions.ends(session)
    over = account.cut_off or (session.ended or ends[-1])
    returned = {id(call.message): call.end for call in timeline.handler_calls if call.consumer is consumer}
    taken: list[Event] = []
    for message in timeline.received(consumer) if consumer is not None else ():
        entry, event = timeline.entry_of(message), returned.get(id(message), message)
        if event is not None and event.seq < over.seq and (entry is None or entry.topic == session.topic):
            taken.append(event)
    steps: list[Event] = [*taken, *(grant.frame for grant in account.grants[1:])]
    return sorted([*steps, *(() if account.cut_off else ends)], key=lambda event: event.seq)


def _follows(timeline: Timeline, refill: _Refill) -> Says:
    account, ripe, then = refill
    last_ns = until_ns(account, then)
    if timeline.bounds.is_missing("answer", ripe.t_ns, last_ns, what="permits"):
        yield breach(
            "no-refill",
            f"the application had received half the queue of consumer {account.handle} ({account.refill} of "
            f"{account.queue}) at {ms(ripe.t_ns)}; expected it to grant permits again; it had granted none by "
            f"{ms(last_ns)}",
            *(ripe, then),
        )
