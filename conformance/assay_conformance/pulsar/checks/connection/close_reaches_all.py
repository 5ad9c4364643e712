from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.history.events import after
from assay_conformance.model.event import Completion, Event, Fate, Frame
from assay_conformance.pulsar.timeline import Exercised, Registration, Says, Timeline, breach, by_owner, check, ms


class _Left(NamedTuple):
    """The last registration of a producer or consumer on a topic, which was admitted when the call that closes it
    ended."""

    registration: Registration
    admitted: Frame
    closed: Completion


def _left(timeline: Timeline) -> Iterator[_Left]:
    for owner, registered in by_owner(timeline.registrations):
        closed = timeline.close_of(owner.handle)
        last = registered[-1]
        admitted = last.session.admitted
        if closed is None or admitted is None or admitted.fate is not Fate.PASSED:
            continue
        # A client that has a reason to leave a connection may leave what is on it, too.
        if admitted.seq < closed.seq and not timeline.connection(last.frame.conn).reasons:
            yield _Left(last, admitted, closed)


@check("connection.close-reaches-all", of=_left)
def close_reaches_all(timeline: Timeline, left: _Left) -> Says:
    """connection.close-reaches-all: a producer or consumer whose close has ended is closed on each topic and partition
    where its broker had admitted it.

    Its end there is a close or an UNSUBSCRIBE, whichever side wrote it, or the end of its connection.
    """
    registration, admitted, closed = left
    end = _end(timeline, registration)
    seen_ns = timeline.bounds.end_ns if end is None else end.t_ns
    if end is not None and end.seq < closed.seq:
        yield Exercised(end)
    elif timeline.bounds.is_overdue("answer", closed.t_ns, seen_ns, what="a close"):
        kind, topic = registration.kind, registration.session.topic
        yield breach(
            "left-registered",
            f"{kind} {registration.handle} was admitted to {topic} at {ms(admitted.t_ns)}, and its close ended at "
            f"{ms(closed.t_ns)}; expected a CLOSE_{kind.upper()} for it; "
            + ("none had left by the end of the Case" if end is None else f"it ended there at {ms(end.t_ns)}"),
            *(admitted, closed),
        )


def _end(timeline: Timeline, registration: Registration) -> Event | None:
    """Return what ended it first. It may be closed before it is admitted."""
    kind, asked = registration.kind, registration.frame
    commands = (f"CLOSE_{kind.upper()}", *(("UNSUBSCRIBE",) if kind == "consumer" else ()))
    places = (timeline.events.frames_by(command, "conn", f"{kind}_id") for command in commands)
    closes = (next(after(by.get((asked.conn, registration.id), ()), asked), None) for by in places)
    ends: list[Event | None] = [*closes, timeline.closed(asked.conn)]
    return min((end for end in ends if end is not None), key=lambda end: end.seq, default=None)
