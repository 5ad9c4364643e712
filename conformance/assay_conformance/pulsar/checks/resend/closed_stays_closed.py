from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay_conformance.history.events import first_of, grouped
from assay_conformance.model.event import Completion, Event, Frame
from assay_conformance.pulsar.checks._stays_closed import came_back, judge_left_behind
from assay_conformance.pulsar.timeline import (
    Exercised,
    HandleEnd,
    Producer,
    ProducerSession,
    Says,
    Timeline,
    breach,
    check,
    closed_by_application,
    how_closed,
    may_register,
    ms,
)


class _Close(NamedTuple):
    """A producer that had been admitted once, the call that closed it or its client, and how that ended."""

    producer: Producer
    call: HandleEnd
    end: Completion


def _closes(timeline: Timeline) -> Iterator[_Close]:
    for producer in timeline.producers:
        call = producer.closing
        if call is not None and producer.admitted:
            end = closed_by_application(timeline, producer.handle, was_away=_was_away(timeline, producer, call))
            if end is not None:
                yield _Close(producer, call, end)


def _was_away(timeline: Timeline, producer: Producer, call: HandleEnd) -> bool:
    """Return whether it had no session on a connection when the client was asked to close it."""
    last = producer.last_session(call.seq)
    return last is not None and _is_away(timeline, last, call)


@check("resend.closed-stays-closed", of=_closes)
def closed_stays_closed(timeline: Timeline, close: _Close) -> Says:
    """resend.closed-stays-closed: a producer that is closed while disconnected does not register again, does not stay
    registered at the broker, and leaves no send pending. A client that refuses to close it then is held to the same.

    Where its PRODUCER was pending, the broker may still admit it: then CLOSE_PRODUCER or the end of the connection has
    to follow.
    """
    producer, call, closed = close
    handle, bounds = timeline.owner(producer), timeline.bounds
    unowned = timeline.once(_unowned).get((producer.topic, producer.name), ())
    back = first_of(*(_first_return(timeline, close, those) for those in (producer.sessions, unowned)))
    if back is not None:
        yield came_back(producer, closed, back)
        return
    last = producer.last_session(call.seq)
    if last is None or not _is_away(timeline, last, call) or _was_admitted_first(close):
        return
    if last.ready is not None and not timeline.was_closed(last):
        left = list(judge_left_behind(timeline, producer, closed, last.request, last.ready, timeline.closed(last.conn)))
        yield from left
        if left:
            return
    pending = [one.invoke for one in timeline.sends_of(handle) if one.completion is None and one.invoke.seq < call.seq]
    if not pending or not bounds.is_overdue("answer", closed.t_ns, bounds.end_ns, what="a pending send"):
        yield Exercised(closed)
        return
    for send in pending:
        yield breach(
            "left-pending",
            f"{producer} {how_closed(closed)}; expected the send of message {send.number}, called before, "
            f"to end; it had not when the Case ended at {ms(bounds.end_ns)}",
            *(send, closed),
        )


def _is_away(timeline: Timeline, session: ProducerSession, at: Event) -> bool:
    """Return whether it is not admitted, or no longer, at event `seq`."""
    return session.ready is None or session.ready.seq > at.seq or timeline.had_closed(session.conn, at)


def _was_admitted_first(close: _Close) -> bool:
    """Return whether it was admitted before the client was called.

    A close waits for sends made before it that block.
    """
    admitted = (session.ready for session in close.producer.sessions if session.ready is not None)
    return any(ready.seq > close.call.seq and ready.t_ns < (close.end.called_ns or 0) for ready in admitted)


def _unowned(timeline: Timeline) -> dict[tuple[str, object], list[ProducerSession]]:
    """Return sessions of unknown producers, by topic and the name that they ask for."""
    unowned = (one for one in timeline.producer_sessions if one.line is None or one.line.handle is None)
    return grouped(unowned, lambda one: (one.topic, one.request.fields.get("producer_name")))


def _first_return(timeline: Timeline, close: _Close, sessions: Sequence[ProducerSession]) -> Frame | None:
    """Return the first PRODUCER after the close that only this producer can have written.

    It is its own, or one under its name with no other there.
    """
    producer, mine = close.producer, timeline.opening(close.producer)
    there = (one for one in timeline.openings.values() if mine is not None and one is not mine)
    others = [one for one in there if mine is not None and one.args.get("topic") == mine.args.get("topic")]
    for session in sessions[bisect_right(sessions, close.call.seq, key=lambda one: one.request.seq) :]:
        request = session.request
        is_late = timeline.bounds.is_past("in-flight", close.end.t_ns, request.t_ns)
        is_own = session.line is producer or not any(may_register(timeline, one, request) for one in others)
        if is_late and session.topic == producer.topic and is_own:
            return request
    return None
