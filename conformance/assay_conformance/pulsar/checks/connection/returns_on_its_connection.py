from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import (
    Exercised,
    Owner,
    Registration,
    Says,
    Timeline,
    breach,
    by_owner,
    check,
    ms,
)


class _Return(NamedTuple):
    """A producer or consumer that had been admitted to a topic registers with the same broker again, while the
    connection of its last registration is there."""

    owner: Owner
    last: Registration
    again: Frame


def _returns(timeline: Timeline) -> Iterator[_Return]:
    for owner, registered in by_owner(timeline.registrations):
        if owner.handle is None:
            continue
        for last, later in pairwise(registered):
            if last.session.was_admitted(later.frame) and _is_there(timeline, last.frame.conn, later.frame):
                yield _Return(owner, last, later.frame)


def _is_there(timeline: Timeline, conn: int, at: Frame) -> bool:
    """Return whether a connection lived on for a while behind a frame, leads where that one's does, and brought nothing
    over which its client may leave it."""
    connection, other = timeline.connection(conn), timeline.connection(at.conn)
    if conn != at.conn and (connection.may_be_left_before(at) or _broker(timeline, conn) != _broker(timeline, at.conn)):
        return False
    known = connection.opened is not None and other.opened is not None
    return known and not timeline.bounds.ended_soon_after(at, timeline.closed(conn))


def _broker(timeline: Timeline, conn: int) -> tuple[str, object]:
    """Return the broker that a connection leads to, directly or through a proxy."""
    handshake = timeline.handshakes.on(conn)
    connect = None if handshake is None else handshake.connect
    return timeline.connection(conn).url, None if connect is None else connect.fields.get("proxy_to_broker_url")


@check("connection.returns-on-its-connection", of=_returns)
def returns_on_its_connection(timeline: Timeline, back: _Return) -> Says:
    """connection.returns-on-its-connection: a producer or consumer that registers with a broker again does so on the
    connection on which it was registered there, as long as that is open.

    Not judged where its client ends that connection soon, as one does that has a connection for each.
    """
    owner, last, again = back
    yield Exercised(again)
    if again.conn != last.frame.conn:
        yield breach(
            "another-connection",
            f"{last.kind} {owner.handle} was registered with topic {last.session.topic} on connection "
            f"{last.frame.conn}, which is open; expected it to register with that broker there again; it registered on "
            f"connection {again.conn} at {ms(again.t_ns)}",
            *(last.frame, again),
        )
