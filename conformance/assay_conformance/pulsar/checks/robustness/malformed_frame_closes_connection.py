from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import View
from assay_conformance.checks.leaving import ends_reading
from assay_conformance.model.event import Closed, ClosedBy, Event, Fate, Fired, Opened
from assay_conformance.model.fault import Direction, Inject
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, each, ms


def _puts_in_bytes(view: View) -> bool:
    return any(isinstance(fault.action, Inject) and fault.action.raw for fault in view.case.faults)


@check("robustness.malformed-frame-closes-connection", where=_puts_in_bytes)
def malformed_frame_closes_connection(timeline: Timeline) -> Says:
    """robustness.malformed-frame-closes-connection: after bytes that are not a frame the client closes the connection
    and opens a new one, since nothing after them can be read.

    Where a fault holds frames of that connection, such bytes are held, too. A broker that does not read at once does
    not notice a close at once either: then it is unknown how long the connection stayed open. What the client left open
    until its broker, or a fault, ended it was kept open as well.
    """
    first = {fired.conn: fired for fired in reversed(list(_bad_bytes(timeline)))}
    yield from each(first.values(), _judge_closed, timeline)
    yield from each(first.values(), _judge_back, timeline)


def _bad_bytes(timeline: Timeline) -> Iterator[Fired]:
    """Yield faults that put bytes in that are no frame, on their way to the client."""
    faults = timeline.view.case.faults
    for fired in timeline.events.of(Fired):
        action = faults[fired.fault].action if fired.fault < len(faults) else None
        to_client = isinstance(action, Inject) and action.direction is Direction.TO_CLIENT
        if fired.conn is not None and to_client and ends_reading(timeline.view, fired):
            yield fired


def _came_ns(timeline: Timeline, fired: Fired) -> int:
    moved = (one for one in timeline.moved if one.conn == fired.conn and one.dir is Direction.TO_CLIENT)
    return max([fired.t_ns, *(one.t_ns for one in moved if one.fate is Fate.RELEASED)])


def _is_held(timeline: Timeline, fired: Fired) -> bool:
    """Return whether the last that a fault did to frames there was to hold one."""
    moved = [one for one in timeline.moved if one.conn == fired.conn and one.dir is Direction.TO_CLIENT]
    return bool(moved) and moved[-1].fate is Fate.HELD


def _until_ns(timeline: Timeline) -> int:
    """Return when the application began to end what it has, or the Case ended."""
    return timeline.bounds.until(*timeline.leavings)


def _is_kept(timeline: Timeline, fired: Fired, seen_ns: int) -> bool:
    if _is_held(timeline, fired) or not timeline.view.is_read_at_once():
        return False
    return timeline.bounds.is_missing("answer", _came_ns(timeline, fired), seen_ns, what="the end of a connection")


def _judge_closed(timeline: Timeline, fired: Fired) -> Says:
    closed, came_ns = timeline.closed(fired.conn), _came_ns(timeline, fired)
    by_client = closed is not None and closed.by is ClosedBy.CLIENT
    seen: Event = closed or timeline.ended
    if _is_kept(timeline, fired, seen.t_ns if by_client else min(seen.t_ns, _until_ns(timeline))):
        yield breach(
            "kept-open",
            f"bytes that are no frame came over connection {fired.conn} at {ms(came_ns)}; expected the client to close "
            f"it, since nothing after them can be read; it was still open at {ms(seen.t_ns)}",
            *(fired, seen),
        )
    elif closed is not None and by_client:
        yield Exercised(closed)


def _judge_back(timeline: Timeline, fired: Fired) -> Says:
    """Judge whether the client is back, where a producer or a consumer was registered.

    Without one, no new connection is needed. A client that finds its topic at another broker may use an existing
    connection to that one. It may have closed this one before its peer noticed.
    """
    closed, came_ns, until_ns = timeline.closed(fired.conn), _came_ns(timeline, fired), _until_ns(timeline)
    admitted = {one.conn for one in timeline.producer_sessions if one.admitted is not None}
    admitted |= {one.conn for one in timeline.consumer_sessions.all if one.admitted is not None}
    if closed is None or closed.by is not ClosedBy.CLIENT or closed.conn not in admitted:
        return
    attempts: list[Event] = [*timeline.events.of(Opened), *(one.frame for one in timeline.registrations)]
    if any(one.t_ns >= came_ns for one in attempts) or _is_late(timeline, fired, closed):
        return
    if timeline.bounds.is_missing("reconnect", closed.t_ns, until_ns, what="a new connection"):
        yield breach(
            "not-back",
            f"the client closed connection {closed.conn} at {ms(closed.t_ns)} after bytes that are no frame "
            f"({ms(fired.t_ns)}); expected a new connection; there was none by {ms(until_ns)}",
            *(fired, closed),
        )


def _is_late(timeline: Timeline, fired: Fired, closed: Closed) -> bool:
    """Return whether it was kept open for too long: that is a finding of its own."""
    return timeline.bounds.is_past("answer", _came_ns(timeline, fired), closed.t_ns)
