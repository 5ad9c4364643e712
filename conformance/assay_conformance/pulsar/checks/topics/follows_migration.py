from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from typing import NamedTuple

from assay_conformance.checks.consumption import to_client
from assay_conformance.history.events import first_of
from assay_conformance.model.case import Who
from assay_conformance.model.event import Closed, ClosedBy, Event, Frame, Outcome
from assay_conformance.pulsar.checks._shut_out import refused_for_good
from assay_conformance.pulsar.timeline import (
    FINAL_ERRORS,
    Exercised,
    ProducerSession,
    Registration,
    Says,
    Timeline,
    UnknownError,
    breach,
    check,
    ms,
    whose,
)


class _Place(NamedTuple):
    """Of a producer or consumer, but for its client: ids are unique within a client only."""

    kind: str
    id: int
    topic: str


class _Migrated(NamedTuple):
    """A producer or consumer got TOPIC_MIGRATED, for a topic that went to `broker`. `closing`: what ends it. `void`:
    from here on nothing is expected of it: it was never opened, got TOPIC_MIGRATED once more, or may not have read
    this one."""

    frame: Frame
    place: _Place
    client: int
    broker: int
    closing: Event | None
    void: Event | None


def _migrated(timeline: Timeline) -> list[_Migrated]:
    targets = {
        str(step.args.get("topic")): int(step.args.get("broker", 0))
        for step in timeline.view.case.steps
        if step.who is Who.BROKER and step.verb == "migrate"
    }
    found, next_one = list[_Migrated](), dict[tuple[_Place, int | None], Frame]()
    for migration in reversed(timeline.migrations):
        frame, session = migration.frame, migration.session
        if session is None or not to_client(frame) or session.topic not in targets:
            continue
        registered = Registration(session)
        place, client = _place(registered), _client(timeline, registered, frame)
        again, next_one[place, client] = next_one.get((place, client)), frame
        broker, owner = targets[place.topic], whose(session, frame)
        closing = None if owner is None else owner.closing
        void = first_of(again, _unopened(timeline, registered, frame), _unread(timeline, frame))
        is_over = any(one is not None and one.seq < frame.seq for one in (closing, void))
        is_there = timeline.connection(frame.conn).broker == broker
        if client is not None and not (is_over or is_there or _sends_no_more(timeline, registered, frame)):
            found.append(_Migrated(frame, place, client, broker, closing, void))
    return found[::-1]


def _place(one: Registration) -> _Place:
    return _Place(one.kind, one.id, one.session.topic)


def _client(timeline: Timeline, one: Registration, at: Event) -> int | None:
    """Return the handle of its client; None where it may belong to any of several."""
    clients = {call.handle for call in timeline.events.invokes("open_client")}
    owner = whose(one.session, at)
    client = timeline.view.client_of(None if owner is None else owner.handle)
    return 0 if len(clients) <= 1 else None if client is None else client.handle


def _unopened(timeline: Timeline, one: Registration, at: Frame) -> Event | None:
    """Return the end of its open call, where that failed."""
    owner = whose(one.session, at)
    handle = None if owner is None else owner.handle
    ends = timeline.events.completions_of(handle, f"open_{one.kind}") if handle is not None else ()
    return next((end for end in ends if end.outcome is not Outcome.OK), None)


def _unread(timeline: Timeline, frame: Frame) -> Closed | None:
    """Return the end of its connection, where that was lost, or the client left soon, over something ahead of it."""
    connection = timeline.connection(frame.conn)
    is_soon = timeline.bounds.ended_soon_after(frame, connection.left_by_client)
    return connection.closed if is_soon and connection.may_be_left_before(frame) else connection.lost


def _sends_no_more(timeline: Timeline, one: Registration, at: Frame) -> bool:
    """Return whether it is a producer that had got a final error."""
    errors = timeline.events.frames("SEND_ERROR") if isinstance(one.session, ProducerSession) else ()
    final = (error for error in errors if error.to_receiver and error.fields.get("error") in FINAL_ERRORS)
    return any(error.seq < at.seq and timeline.session_of(error) is one.session for error in final)


def _by_place(timeline: Timeline) -> dict[_Place, list[Registration]]:
    found: dict[_Place, list[Registration]] = {}
    for one in timeline.registrations:
        found.setdefault(_place(one), []).append(one)
    return found


def _registered(timeline: Timeline, place: _Place, after: Frame, until: Event | None) -> list[Registration]:
    its = timeline.once(_by_place).get(place, [])
    first, end = (
        len(its) if event is None else bisect_right(its, event.seq, key=lambda one: one.frame.seq)
        for event in (after, until)
    )
    return its[first:end]


@check("topics.follows-migration", of=_migrated)
def follows_migration(timeline: Timeline, migrated: _Migrated) -> Says:
    """topics.follows-migration: a producer or consumer that got TOPIC_MIGRATED next registers with the broker that the
    Case's step names.

    A registration that is refused there counts. A failed LOOKUP there excuses the client until its next attempt. A
    producer or consumer that is closed or was never opened, or a producer that got a final error before, does not have
    to register. A client that got a damaged frame or an unexpected receipt may close the connection because of that,
    and may not have read TOPIC_MIGRATED; it is not judged then.
    """
    frame, place, broker = migrated.frame, migrated.place, migrated.broker
    stop = first_of(migrated.closing, migrated.void)
    for one in _registered(timeline, place, frame, stop):
        opened, registered = timeline.connection(one.frame.conn).opened, one.frame
        client = _client(timeline, one, registered)
        if client is None:
            raise UnknownError("several clients may have registered next")
        if client != migrated.client or opened is None or registered.conn == frame.conn:
            continue
        if opened.broker == broker:
            yield Exercised(registered)
            return
        yield breach(
            "stayed",
            f"{place.kind} id {place.id} got TOPIC_MIGRATED for topic {place.topic} at {ms(frame.t_ns)}; expected it "
            f"to register next with broker {broker} of the other cluster; it registered with broker {opened.broker} "
            f"at {ms(registered.t_ns)}",
            *(frame, registered),
        )
    if stop is migrated.closing:
        yield from _never_came(timeline, migrated)


def _never_came(timeline: Timeline, migrated: _Migrated) -> Says:
    (kind, id, topic), frame = migrated.place, migrated.frame
    end = migrated.closing or next(iter(timeline.events.completions("close")), timeline.ended)
    refused = timeline.once(refused_for_good).get(topic, ())
    if any(frame.seq < one.seq < end.seq for one in refused):
        return
    since_ns = _may_wait_until_ns(timeline, frame, end)
    if timeline.bounds.is_missing("reconnect", since_ns, end.t_ns, what="a registration"):
        yield breach(
            "never-came",
            f"{kind} id {id} got TOPIC_MIGRATED for topic {topic} at {ms(frame.t_ns)}; expected it to register with "
            f"broker {migrated.broker} of the other cluster; it had not by {ms(end.t_ns)}",
            *(frame, end),
        )


def _may_wait_until_ns(timeline: Timeline, frame: Frame, end: Event) -> int:
    """Return until when the client may wait.

    A lost connection gives it its time to reconnect again. A failed LOOKUP extends that by a back-off that doubles (no
    longer than all waits before it together); where no answer comes, the client waits for the operation time-out first.
    """
    operation_ns = timeline.operation_timeout_ns()
    lost = (one.t_ns for one in timeline.events.of(Closed) if one.by is not ClosedBy.CLIENT and one.seq < end.seq)
    answers = (one for one in timeline.events.frames("LOOKUP_RESPONSE") if frame.seq < one.seq < end.seq)
    failed = (one for one in answers if not one.to_receiver or one.fields.get("error"))
    failed_ns = (one.t_ns + (0 if one.to_receiver else operation_ns) for one in failed)
    return max(chain([frame.t_ns], lost, (2 * ns - frame.t_ns for ns in failed_ns)))
