"""Connections: when and by whom they began and ended, and every reason that a client may have had to close one. All
such reasons are defined here. The reasons for which clients close a connection (Java `ClientCnx`, C++
`ClientConnection`, Go `connection.go`):

| reason          | which clients leave over it                                                           |
|-----------------|---------------------------------------------------------------------------------------|
| NOT_A_FRAME     | all: nothing after such bytes can be read                                             |
| FORGED          | those that act on forged commands                                                     |
| UNREADABLE      | those that decode a message on arrival                                                |
| SEND_ERROR      | Go and older Java over most errors, C++ over a checksum error                         |
| BUSY            | C++ over both errors of `BUSY` in a lookup; Java over ServiceNotReady, or many        |
| UNANSWERED      | all whose supplier of credentials fails at an AUTH_CHALLENGE                          |
| TIMED_OUT       | pulsar-rs over any send or request of its own that is not answered in time            |
| RECEIPT_LATER   | all, as `resend.receipt-ahead-closes-connection` demands                              |
| RECEIPT_STALE   | none should (`resend.ignores-stale-receipt`); other clauses report no finding for it  |
| REQUEST_REFUSED | none: ERROR fails the request it answers, whatever it says (ServiceNotReady included) |

REQUEST_REFUSED is no reason to close a connection: it is listed to say so. An answer forged by a fault counts by its
content. When a process ends, its system ends the connection, and the bench may notice that first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from typing import Final, NamedTuple

from assay_conformance.checks.base import View
from assay_conformance.checks.leaving import LOOKUPS, ends_reading, is_busy, is_readable
from assay_conformance.history.events import Events
from assay_conformance.judging.patterns import Bounds
from assay_conformance.model.event import (
    AgentEnded,
    Closed,
    ClosedBy,
    Event,
    Fate,
    Fired,
    Frame,
    Opened,
    Sides,
    Undecodable,
)
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline.answers import Answer, Fit


class Why(Enum):
    """What a client may end a connection over."""

    NOT_A_FRAME = "bytes that are no frame"
    FORGED = "a frame that a fault altered, or put in unasked"
    UNREADABLE = "a message that cannot be taken apart"
    SEND_ERROR = "a SEND_ERROR"
    BUSY = "a lookup that the broker is too busy for"
    UNANSWERED = "an AUTH_CHALLENGE that it has no answer to"
    TIMED_OUT = "a send or a request that timed out"
    RECEIPT_LATER = "a receipt ahead of the oldest unanswered send"
    RECEIPT_STALE = "a receipt for nothing that is unanswered"
    REQUEST_REFUSED = "an error in answer to a request"


class Reason(NamedTuple):
    """`event` is what the client may have left over."""

    why: Why
    event: Event


@dataclass(slots=True, eq=False)
class Connection:
    """One connection of the client. `opened` and `closed` are None where the history does not show it."""

    number: int
    opened: Opened | None = None
    closed: Closed | None = None
    ended_with: Event | None = None
    """What ended the client's process, and this connection with it."""
    reasons: list[Reason] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where the client opened it to."""
        return "" if self.opened is None else self.opened.url

    @property
    def broker(self) -> int | None:
        """The broker at its other end."""
        return None if self.opened is None else self.opened.broker

    @property
    def left_by_client(self) -> Closed | None:
        """Its end, where the client ended it, and lived on."""
        chosen = self.closed is not None and self.closed.by is ClosedBy.CLIENT and self.ended_with is None
        return self.closed if chosen else None

    @property
    def ended_by_client(self) -> Closed | None:
        """The same, or that of a client whose process ended with it, by itself."""
        killed = isinstance(self.ended_with, AgentEnded) and self.ended_with.killed
        return self.closed if self.closed is not None and self.closed.by is ClosedBy.CLIENT and not killed else None

    @property
    def lost(self) -> Closed | None:
        """Its end, where the broker, a fault or the end of the client's process was its cause."""
        return self.closed if self.left_by_client is None else None

    def reasons_but(self, *others: Why) -> list[Reason]:
        """Return the reasons to close it, except those that the caller excludes."""
        passed_over = {Why.REQUEST_REFUSED, *others}
        return [reason for reason in self.reasons if reason.why not in passed_over]

    def has_seen(self, before: Event, *kinds: Why) -> bool:
        """Return whether something of these kinds came there before an event."""
        return any(reason.why in kinds for reason in self.before(before))

    def before(self, event: Event) -> Iterator[Reason]:
        """Yield the reasons that came there before an event."""
        return (reason for reason in self.reasons if reason.event.seq < event.seq)

    def may_be_left_before(self, event: Event) -> bool:
        """Return whether the client may have closed it for a reason before an event, which it then did not read. A
        stale receipt is no reason for a client that keeps its clause.
        """
        return any(reason.why not in (Why.REQUEST_REFUSED, Why.RECEIPT_STALE) for reason in self.before(event))


_ALTERED: Final = Fate.ALTERED
_REFUSALS: Final = ("ERROR", *LOOKUPS)


def connections(
    view: View, events: Events, answers: Iterable[Answer], bounds: Bounds, timed_out: Iterable[tuple[int, Event]]
) -> dict[int, Connection]:
    """Return all connections of the attempt, by number. `timed_out`: what got no answer in time, by connection."""
    found: dict[int, Connection] = {}
    for opened in events.of(Opened):
        found[opened.conn] = Connection(opened.conn, opened)
    for closed in events.of(Closed):
        connection = found.setdefault(closed.conn, Connection(closed.conn))
        connection.closed = connection.closed or closed
    ends: list[Event] = [*events.of(AgentEnded), *events.invokes("crash")]
    for end in ends:
        for connection in found.values():
            if connection.ended_with is None and _ends_with(connection, end, bounds):
                connection.ended_with = end
    late = ((conn, Reason(Why.TIMED_OUT, event)) for conn, event in timed_out)
    for conn, reason in chain(_reasons(view, events, answers), late):
        found.setdefault(conn, Connection(conn)).reasons.append(reason)
    for connection in found.values():
        connection.reasons.sort(key=lambda reason: reason.event.seq)
    return found


def _ends_with(connection: Connection, end: Event, bounds: Bounds) -> bool:
    """Return whether a connection ended with a process.

    The end of a process is recorded by another witness than those of its connections, and may come after them.
    """
    if connection.closed is None or (connection.opened is not None and connection.opened.seq > end.seq):
        return False
    return connection.closed.seq > end.seq or not bounds.is_past("answer", connection.closed.t_ns, end.t_ns)


def _reasons(view: View, events: Events, answers: Iterable[Answer]) -> Iterator[tuple[int, Reason]]:
    for garbage in events.of(Undecodable):
        yield garbage.conn, Reason(Why.NOT_A_FRAME, garbage)
    for fired in events.of(Fired):
        if fired.conn is not None and fired.action == "inject":
            why = Why.NOT_A_FRAME if ends_reading(view, fired) else Why.FORGED
            yield fired.conn, Reason(why, fired)
    for answer in answers:
        if answer.place is not Fit.OLDEST and answer.frame.command == "SEND_RECEIPT":
            why = Why.RECEIPT_STALE if answer.place is Fit.NONE else Why.RECEIPT_LATER
            yield answer.frame.conn, Reason(why, answer.frame)
    yield from _frames(events)


def _overtaking(receipts: Iterable[Frame]) -> Iterator[Frame]:
    """Yield receipts that came while a fault kept an earlier one of their producer."""
    kept: set[tuple[int, int | None]] = set()
    for frame in receipts:
        producer = (frame.conn, frame.producer_id)
        if frame.sides is Sides.SENDER:
            kept.add(producer)
        elif frame.sides is Sides.RECEIVER:
            kept.discard(producer)
        elif producer in kept:
            yield frame


def _frames(events: Events) -> Iterator[tuple[int, Reason]]:
    for frame in events.frames("SEND_ERROR"):
        if frame.to_receiver:
            yield frame.conn, Reason(Why.SEND_ERROR, frame)
    for frame in _overtaking(events.frames("SEND_RECEIPT")):
        yield frame.conn, Reason(Why.RECEIPT_LATER, frame)
    for frame in events.frames("MESSAGE"):
        if frame.to_receiver and not is_readable(frame):
            yield frame.conn, Reason(Why.UNREADABLE, frame)
    for frame in events.frames(*_REFUSALS):
        if frame.to_receiver and frame.fields.get("error"):
            busy = frame.command in LOOKUPS and is_busy(frame)
            yield frame.conn, Reason(Why.BUSY if busy else Why.REQUEST_REFUSED, frame)
    answered = {frame.conn: frame.seq for frame in events.frames("AUTH_RESPONSE")}
    for frame in events.frames("AUTH_CHALLENGE"):
        if frame.to_receiver and answered.get(frame.conn, -1) < frame.seq:
            yield frame.conn, Reason(Why.UNANSWERED, frame)
    for frame in events.frames():
        if frame.fate is _ALTERED and frame.dir is Direction.TO_CLIENT and frame.to_receiver:
            yield frame.conn, Reason(Why.FORGED, frame)
