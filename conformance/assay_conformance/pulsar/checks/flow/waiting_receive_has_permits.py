"""flow.waiting-receive-has-permits"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import moves_to_dead_letter
from assay_conformance.model.event import Completion
from assay_conformance.pulsar.timeline import (
    Consumer,
    Exercised,
    PermitAccount,
    Says,
    Timeline,
    breach,
    called_ns,
    check,
    ms,
    queued_messages,
)


class _Waited(NamedTuple):
    """A receive that ended with less than it requested, and the permits of its consumer on one of its topics;
    `asks_since_ns`: since when the consumer was not paused."""

    consumer: Consumer
    account: PermitAccount
    end: Completion
    asks_since_ns: int

    @property
    def since_ns(self) -> int:
        """Since when it waited, and nothing was granted or came there."""
        events = [self.account.session.admitted, *self.account.frames]
        moments_ns = (one.t_ns for one in events if one is not None and one.seq < self.end.seq)
        return max(called_ns(self.end), self.asks_since_ns, *moments_ns)


def _waited(timeline: Timeline) -> Iterator[_Waited]:
    """Yield receives that waited where the consumer has a queue.

    What a client settles by letters it may keep there until these are stored.
    """
    for end in timeline.starved:
        consumer = timeline.consumer(end.handle)
        is_asking = consumer is not None and timeline.setting(consumer, "receiver_queue_size") != 0
        if consumer is None or not is_asking or moves_to_dead_letter(timeline.view, consumer):
            continue
        since_ns = timeline.unpaused_since_ns(consumer, end)
        if since_ns is not None:
            yield from (_Waited(consumer, account, end, since_ns) for account in _live(timeline, consumer, end))


def _live(timeline: Timeline, consumer: Consumer, end: Completion) -> Iterator[PermitAccount]:
    """Yield the accounts of its sessions that were admitted, and neither over nor sought on."""
    for account in timeline.client_accounts:
        session = account.session
        is_in = account.consumer is consumer and session.was_admitted(end)
        if is_in and timeline.consumer_sessions.ends(session)[0].seq > end.seq:
            yield account


@check("flow.waiting-receive-has-permits", of=_waited)
def waiting_receive_has_permits(timeline: Timeline, waited: _Waited) -> Says:
    """flow.waiting-receive-has-permits: while a receive waits and no message is left for it in the client, the consumer
    has open permits on each of its topics."""
    consumer, account, end, _ = waited
    balance = account.at(end)
    if balance.available > 0:
        yield Exercised(end)
        return
    is_known = not balance.garbled and not any(queued_messages(timeline, consumer, end))
    if is_known and timeline.bounds.is_overdue("answer", waited.since_ns, end.t_ns, what="permits"):
        yield breach(
            "waits-without-permits",
            f"consumer {consumer.handle} had a receive waiting until {ms(end.t_ns)}, with no arrived message left for "
            f"it; expected open permits for topic {account.session.topic}; it had granted {balance.granted} there, and "
            f"{balance.charged} messages had used them up by {ms(waited.since_ns)}",
            *([] if account.session.admitted is None else [account.session.admitted]),
            end,
        )
