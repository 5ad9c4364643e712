from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Closed, Completion, Event, Frame
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline import (
    ConsumerSession,
    Exercised,
    ProducerSession,
    Says,
    Timeline,
    breach,
    check,
    ms,
)


class _Left(NamedTuple):
    """A producer of letters that was registered when the last consumer that may have opened it was closed."""

    session: ProducerSession
    admitted: Frame
    closed: Completion


def _left(timeline: Timeline) -> Iterator[_Left]:
    for one in timeline.registrations:
        session, admitted = one.session, one.session.admitted
        address = timeline.letters.address(one.frame)
        if isinstance(session, ConsumerSession) or one.handle is not None or admitted is None or address is None:
            continue
        owners = [it for it in timeline.consumers if it.subscription == address.consumer.subscription]
        ends = [timeline.close_of(it.handle) for it in owners]
        closes = [end for end in ends if end is not None]
        if len(closes) == len(owners):
            closed = max(closes, key=lambda end: end.seq)
            if admitted.seq < closed.seq:
                yield _Left(session, admitted, closed)


@check("dead-letter.closes-with-consumer", of=_left)
def closes_with_consumer(timeline: Timeline, left: _Left) -> Says:
    """dead-letter.closes-with-consumer: what a consumer has opened to send letters is closed when the consumer is.

    Judged for the last consumer of its subscription, and where every letter has its receipt: one that has none may
    still be sent. Its end is a CLOSE_PRODUCER of either side, or that of its connection.
    """
    session, admitted, closed = left
    end = _end(timeline, session, admitted)
    seen_ns = timeline.bounds.end_ns if end is None else end.t_ns
    if end is not None and end.seq < closed.seq:
        if isinstance(end, Frame) and end.dir is Direction.TO_BROKER:
            yield Exercised(end)
        return
    units = [] if session.line is None else session.line.units
    if any(not unit.receipts for unit in units) or _is_sent_later(timeline, session, closed):
        return
    if timeline.bounds.is_overdue("answer", closed.t_ns, seen_ns, what="the close of a producer"):
        yield breach(
            "left-open",
            f"the producer of letters on {session.topic} was admitted at {ms(admitted.t_ns)}, and the last consumer of "
            f"its subscription was closed at {ms(closed.t_ns)}; expected it to be closed, too; it "
            + ("was still registered at the end of the Case" if end is None else f"ended at {ms(end.t_ns)}"),
            *(admitted, closed),
        )
    else:
        yield Exercised(closed)


def _end(timeline: Timeline, session: ProducerSession, admitted: Frame) -> Event | None:
    closes = timeline.events.frames_by("CLOSE_PRODUCER", "conn", "producer_id")
    written = [one for one in closes.get((session.conn, session.producer_id), ()) if one.seq > admitted.seq]
    ends: list[Frame | Closed | None] = [*written[:1], timeline.closed(session.conn)]
    return min((end for end in ends if end is not None), key=lambda end: end.seq, default=None)


def _is_sent_later(timeline: Timeline, session: ProducerSession, closed: Completion) -> bool:
    """Return whether a letter left, or was answered, after that."""
    frames = timeline.events.frames_by("SEND", "conn", "producer_id").get((session.conn, session.producer_id), ())
    answers = timeline.events.frames_by("SEND_RECEIPT", "conn", "producer_id")
    both = (*frames, *answers.get((session.conn, session.producer_id), ()))
    return any(one.seq > closed.seq for one in both)
