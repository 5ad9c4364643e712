"""Acknowledgments of whole entries that a client owes, and the ACKs that settle them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.timeline import AckCall, Call, ConsumerSession, Says, Timeline, breach, ms


class Owed(NamedTuple):
    """`since`: the call, or its end, from which on an ACK is owed; `left`: the first ACK after it that settles its
    entry; `over`: what was over first."""

    ack: AckCall
    session: ConsumerSession
    since: Event
    left: Frame | None
    over: Event


def never_left(
    timeline: Timeline, code: str, call: Call, since_ns: int, end: Frame, what: str, ack: str = "an ACK of it"
) -> Says:
    """Judge a call that no ACK had followed when the client ended its session.

    `since_ns`: when its client certainly knew of it; `what` it was asked to acknowledge, and which ACK would do that.
    """
    if timeline.is_ack_overdue(call.consumer, since_ns, end.t_ns):
        yield breach(
            code,
            f"consumer {call.consumer.handle} had been asked to acknowledge {what} before {ms(since_ns)}; expected "
            f"{ack} before it closed; it closed at {ms(end.t_ns)} without one",
            *(call.invoke, end),
        )


def owed_since(timeline: Timeline, asked: Iterator[tuple[AckCall, ConsumerSession, Event]]) -> Iterator[Owed]:
    """Yield what is owed from these moments on, in order; not twice while the same entry is owed already."""
    until: dict[tuple[int, object], int] = {}
    for ack, session, since in asked:
        if until.get((id(session), ack.entry), -1) > since.seq:
            continue
        over = timeline.consumer_sessions.end_after(session, since) or timeline.ended
        first = timeline.written_acks(session).first(ack.entry, since)
        left = first if first is not None and first.seq < over.seq else None
        until[id(session), ack.entry] = (left or over).seq
        yield Owed(ack, session, since, left, over)
