from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import number_in_force
from assay_conformance.model.event import Completion
from assay_conformance.pulsar.timeline import Exercised, PermitAccount, Says, Timeline, breach, check, ms

_LETS_GO = ("seek", "unsubscribe", "close", "reconsume_later")


class _Waited(NamedTuple):
    """A receive that ended with less than it asked for, and the permits of one session of its consumer."""

    end: Completion
    account: PermitAccount


def _waited(timeline: Timeline) -> Iterator[_Waited]:
    accounts = timeline.client_accounts if timeline.starved else []
    for end in timeline.starved:
        for account in accounts:
            if account.handle == end.handle and _is_open(timeline, account, end):
                yield _Waited(end, account)


def _is_open(timeline: Timeline, account: PermitAccount, end: Completion) -> bool:
    """Whether the session was there when the receive ended, as far as the client may know."""
    session, consumer = account.session, account.consumer
    if consumer is None or not number_in_force(timeline.view, consumer, "receiver_queue_size"):
        return False
    admitted, ended = session.admitted, session.ended
    lasted = admitted is not None and admitted.seq < end.seq and (ended is None or ended.seq > end.seq)
    calls = (call for verb in _LETS_GO for call in timeline.events.invokes(verb))
    leaves = any(call.seq < end.seq and call.handle == consumer.handle for call in calls)
    return lasted and not leaves and not timeline.connection(session.conn).may_be_left_before(end)


@check("flow.waiting-receive-has-permits", of=_waited)
def waiting_receive_has_permits(timeline: Timeline, waited: _Waited) -> Says:
    """flow.waiting-receive-has-permits: while a receive waits, the broker may send: on every topic of the consumer more
    permits were granted than messages were charged.

    What it has been handed by then is consumed, and so is half of any queue.
    """
    end, account = waited
    balance, consumer, session = account.at(end), account.consumer, account.session
    if balance.garbled or consumer is None or session.admitted is None:
        return
    if balance.outstanding > 0:
        yield Exercised(end)
        return
    asks_since_ns = timeline.asks_since(consumer, end)
    if asks_since_ns is None:
        return
    came = [frame for frame in account.frames if frame.command == "MESSAGE" and frame.seq < end.seq]
    got = [one for one in timeline.received(consumer) if one.seq < end.seq]
    moments = [timeline.call(end), session.admitted, *came[-1:], *got[-1:]]
    since_ns = max(asks_since_ns, *(one.t_ns for one in moments))
    if timeline.bounds.is_overdue("answer", since_ns, end.t_ns, what="a FLOW"):
        yield breach(
            "no-permits",
            f"a receive of consumer {consumer.handle} waited from {ms(timeline.call(end).t_ns)} to {ms(end.t_ns)} and "
            f"got {end.count or 0} messages; expected the broker to have permits for {session.topic} all the time; it "
            f"had been granted {balance.granted}, and {balance.charged} were used up",
            session.admitted,
            end,
        )
