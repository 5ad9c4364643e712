from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.model.event import Closed, ClosedBy, Ended, Event, Fired, Frame, Healed
from assay_conformance.model.fault import Direction
from assay_conformance.model.outside import Timeout
from assay_conformance.pulsar.timeline import MS, Exercised, Says, Timeline, breach, check, ms

_TO_CLIENT = Direction.TO_CLIENT


@dataclass(slots=True)
class _Silence:
    """A connection since the last frame that was written to its client, or since a fault kept all of it back."""

    conn: int
    since_ns: int
    last: Frame | Fired
    until_ns: int = 0
    closed: Closed | None = None
    """What ended it, where that was the end of the connection."""
    pinged: Frame | None = None
    spoke: bool = False
    """Whether the client wrote something else since: then it was not idle, and need not ping."""


def _interval_ns(timeline: Timeline) -> int:
    return int(timeline.view.setting("client", "keep_alive_ms") or 0) * MS


def _silences(timeline: Timeline) -> Iterator[_Silence]:
    """Yield silences of more than one interval.

    What is written to the client does not count while a toxic lets nothing through to it: that is a silence since it
    began.
    """
    interval_ns = _interval_ns(timeline)
    going_on: dict[int, _Silence] = {}
    blocked_by: Fired | None = None

    def ended(silence: _Silence, until_ns: int, closed: Closed | None = None) -> Iterator[_Silence]:
        if until_ns - silence.since_ns > interval_ns:
            silence.until_ns, silence.closed = until_ns, closed
            yield silence

    for event in _of_connections(timeline):
        match event:
            case Frame() if event.dir is _TO_CLIENT:
                before = going_on.get(event.conn)
                if event.to_receiver and blocked_by is None and (before or event.command == "CONNECTED"):
                    yield from ended(before, event.t_ns) if before is not None else ()
                    going_on[event.conn] = _Silence(event.conn, event.t_ns, event)
            case Frame():
                before = going_on.get(event.conn) if event.from_sender else None
                if before is not None and event.command == "PING":
                    before.pinged = before.pinged or event
                elif before is not None:
                    before.spoke = True
            case Fired() if _blocks_to_client(timeline, event):
                blocked_by = event
                going_on = {conn: _Silence(conn, event.t_ns, event) for conn in going_on}
            case Healed() if blocked_by is not None and blocked_by.fault == event.fault:
                blocked_by = None
            case Closed() if event.conn in going_on:
                yield from ended(going_on.pop(event.conn), event.t_ns, event)
            case Ended():
                for silence in going_on.values():
                    yield from ended(silence, event.t_ns)
                going_on = {}


def _of_connections(timeline: Timeline) -> list[Event]:
    """Return what concerns silences, in order; nothing of a history that is shorter than an interval."""
    of = timeline.events.of
    if not 0 < _interval_ns(timeline) < timeline.lasted_ns:
        return []
    events: list[Event] = [*of(Frame), *of(Fired), *of(Healed), *of(Closed), *of(Ended)]
    return sorted(events, key=lambda event: event.seq)


def _blocks_to_client(timeline: Timeline, event: Fired) -> bool:
    """Return whether it blocks only the direction to the client.

    Where both are blocked, the wire does not show that the client pings and closes, since TCP without acknowledgments
    soon sends nothing new.
    """
    faults = timeline.view.case.faults
    action = faults[event.fault].action if event.fault < len(faults) else None
    return isinstance(action, Timeout) and action.direction is _TO_CLIENT


@check("connection.closes-silent-connection", of=_silences)
def closes_silent_connection(timeline: Timeline, silence: _Silence) -> Says:
    """connection.closes-silent-connection: a client that receives nothing pings after one keep-alive interval and
    closes the connection after the second.

    Its timer counts whole intervals, so the bounds are one and two intervals plus the tolerance.
    """
    closed, interval_ns, since = silence.closed, _interval_ns(timeline), ms(silence.since_ns)
    left = closed if closed is not None and closed.by is ClosedBy.CLIENT else None
    in_time = not timeline.bounds.is_past("keep-alive", silence.since_ns + 2 * interval_ns, silence.until_ns)
    if left is not None and in_time and not timeline.has_begun_to_end(left.seq):
        yield Exercised(left)
    pinged_ns = silence.until_ns if silence.pinged is None else silence.pinged.t_ns
    if not silence.spoke and _is_late(timeline, silence, pinged_ns, 1):
        when = f"none had come by {ms(pinged_ns)}" if silence.pinged is None else f"it came at {ms(pinged_ns)}"
        yield breach(
            "no-ping",
            f"connection {silence.conn}: idle since {since}; expected a PING within {interval_ns // MS} ms, one "
            f"keep-alive interval; {when}",
            *(silence.last, closed, silence.pinged),
        )
    if _is_late(timeline, silence, silence.until_ns, 2):
        yield breach(
            "stayed",
            f"connection {silence.conn}: nothing was written to the client after {since}; expected it to close the "
            f"connection within two keep-alive intervals of {interval_ns // MS} ms; it was still open at "
            f"{ms(silence.until_ns)}",
            *(silence.last, closed),
        )


def _is_late(timeline: Timeline, silence: _Silence, seen_ns: int, intervals: int) -> bool:
    """Return whether the client's own timers should have made it ping or close.

    A fault that silences the broker does not excuse it.
    """
    due_ns, since_ns = silence.since_ns + intervals * _interval_ns(timeline), silence.since_ns
    if not isinstance(silence.last, Fired):
        return timeline.bounds.is_overdue("keep-alive", since_ns, seen_ns, due_ns=due_ns, what="a keep-alive")
    is_late = timeline.bounds.is_past("keep-alive", due_ns, seen_ns)
    if is_late:
        timeline.bounds.check_quiet("keep-alive", since_ns, seen_ns, what="whether a keep-alive only came late")
        timeline.bounds.check_read()
    return is_late
