from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from assay_conformance.history.events import after
from assay_conformance.judging.tolerance import Tolerance
from assay_conformance.model.event import Closed, Event, Fate, Fired, Frame
from assay_conformance.model.fault import Direction
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import (
    MS,
    Consumer,
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

_SHORTEST_TIME_OUT_MS: Final = 3_000
"""For a client whose operation time-out is not known: shorter than any default."""


class _Stay(NamedTuple):
    """A registration that was admitted, what ended it, and its owner's next one there.

    `is_return`: its owner had been admitted to the topic before.
    """

    owner: Owner
    registered: Registration
    admitted: Frame
    end: Closed | Frame | None
    later: Frame | None
    is_return: bool

    @property
    def given_up(self) -> Frame | None:
        """What its client wrote first, while it was registered, to close it or to register again."""
        end, later = self.end, self.later
        if later is not None and (end is None or later.seq < end.seq):
            return later
        return end if isinstance(end, Frame) and end.dir is Direction.TO_BROKER else None


def _stays(timeline: Timeline) -> Iterator[_Stay]:
    for owner, registered in by_owner(timeline.registrations):
        if owner.handle is None:
            continue
        was_admitted = False
        for one, later in zip(registered, [*(one.frame for one in registered[1:]), None], strict=True):
            admitted = one.session.admitted
            if admitted is not None and (later is None or admitted.seq < later.seq):
                yield _Stay(owner, one, admitted, _end(timeline, one, admitted), later, was_admitted)
                was_admitted = True


def _end(timeline: Timeline, one: Registration, admitted: Frame) -> Closed | Frame | None:
    """Return the end of its connection, or the first close that either side wrote."""
    closes = timeline.events.frames_by(f"CLOSE_{one.kind.upper()}", "conn", f"{one.kind}_id")
    written = next(after(closes.get((one.frame.conn, one.id), ()), admitted), None)
    lost = timeline.closed(one.frame.conn)
    return written if lost is None or (written is not None and written.seq < lost.seq) else lost


@check("connection.registers-once", of=_stays)
def registers_once(timeline: Timeline, stay: _Stay) -> Says:
    """connection.registers-once: what is registered on an open connection is neither registered again nor closed by its
    client without a reason: however many signs of a loss the client gets, it comes back once.

    Reasons are what the application calls, a seek, and whatever stood in the way of this producer or consumer since the
    broker admitted it.
    """
    frame, (owner, registered, admitted, *_) = stay.given_up, stay
    if frame is None or not _is_open(timeline, owner, frame) or _has_reason(timeline, stay, frame):
        if stay.is_return:
            yield Exercised(admitted)
        return
    _check_read_in_time(timeline, stay, frame)
    is_close = frame.command.startswith("CLOSE_")
    did = "it was closed again by its client" if is_close else f"it registered again, on connection {frame.conn},"
    yield breach(
        "closed-again" if is_close else "registered-again",
        f"{registered.kind} {owner.handle} was registered with topic {registered.session.topic} on connection "
        f"{registered.frame.conn} at {ms(admitted.t_ns)}; expected it to stay so, as nothing had happened since; "
        f"{did} at {ms(frame.t_ns)}",
        *(admitted, frame),
    )


def _is_open(timeline: Timeline, owner: Owner, at: Frame) -> bool:
    """Return whether the call that opened it had ended well, and the application had not closed it.

    A consumer of a pattern closes what it has of a topic that is gone.
    """
    call = timeline.opening_of(owner.handle)
    follows = isinstance(owner, Consumer) and "pattern" in owner.invoke.args
    return call is not None and timeline.is_in_use(call, at) and not (follows and at.command == "CLOSE_CONSUMER")


def _has_reason(timeline: Timeline, stay: _Stay, frame: Frame) -> bool:
    owner, registered, admitted = stay.owner, stay.registered, stay.admitted
    assert owner.handle is not None
    if admitted.fate is not Fate.PASSED or _may_have_timed_out(timeline, stay):
        return True
    asked = timeline.events.invokes_of(owner.handle, "seek", "unsubscribe")
    moved = timeline.frames_of(owner, "SEEK", "UNSUBSCRIBE") if isinstance(owner, Consumer) else ()
    # A call may have waited for its turn, and its frame for the connection.
    if any(one.seq < frame.seq for one in asked if one.seq > registered.frame.seq):
        return True
    if any(admitted.seq < one.seq < frame.seq for _, one in moved):
        return True
    met = timeline.obstacles.between(_since_ns(timeline, stay), frame, owner.handle, [registered.session.topic])
    return any(one.event is not frame and not _is_behind(one.event, admitted) for one in met)


def _since_ns(timeline: Timeline, stay: _Stay) -> int:
    """Return from when on something may have stood in its way.

    Partitions are opened together when they are found, and those that came are closed when one is refused (Go client,
    producer_impl: internalCreatePartitionsProducers).
    """
    asked = timeline.events.frames("PARTITIONED_METADATA") if not stay.is_return else ()
    topic = base_topic(stay.registered.session.topic)
    found = (one.t_ns for one in asked if one.seq < stay.admitted.seq and timeline.local_topic(one) == topic)
    return max(found, default=stay.admitted.t_ns)


def _may_have_timed_out(timeline: Timeline, stay: _Stay) -> bool:
    """Return whether its client may no longer have waited for it to be admitted."""
    return not timeline.bounds.is_before("in-flight", _times_out_ns(timeline, stay), stay.admitted.t_ns)


def _times_out_ns(timeline: Timeline, stay: _Stay) -> int:
    """Return when its client gives up the operation that registered it.

    An operation begins ahead of its PRODUCER or SUBSCRIBE: with the call, or the connection on which its owner returns.
    """
    limit_ns = timeline.operation_timeout_ns(stay.owner.handle, otherwise_ms=_SHORTEST_TIME_OUT_MS)
    frame, call = stay.registered.frame, timeline.opening_of(stay.owner.handle)
    began = (timeline.connection(frame.conn).opened, call)
    return max((one.t_ns for one in began if one is not None), default=frame.t_ns) + limit_ns


def _check_read_in_time(timeline: Timeline, stay: _Stay, given_up: Frame) -> None:
    """Raise `TooBusyError` where its client may have stood still until its operation timed out, the answer unread."""
    due_ns, admitted = _times_out_ns(timeline, stay), stay.admitted
    if due_ns <= given_up.t_ns:
        left = Tolerance((due_ns - admitted.t_ns) // MS, "what was left of the operation time-out when it was admitted")
        what = f"whether the client read in time that its {stay.registered.kind} was admitted"
        timeline.bounds.check_quiet(left, admitted.t_ns, due_ns, what=what)


def _is_behind(event: Event, admitted: Frame) -> bool:
    """Return whether this is a loss of connections that was over when the broker admitted it."""
    return isinstance(event, Fired) and event.action in ("cut", "refuse") and event.seq < admitted.seq
