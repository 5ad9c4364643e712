"""Acknowledgments of whole entries that a client owes, and the ACKs that settle them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.timeline import AckCall, ConsumerSession, Timeline


class Owed(NamedTuple):
    """`since`: the call, or its end, from which on an ACK is owed; `left`: the first ACK behind it that settles its
    entry; `over`: what was over first."""

    ack: AckCall
    session: ConsumerSession
    since: Event
    left: Frame | None
    over: Event


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
