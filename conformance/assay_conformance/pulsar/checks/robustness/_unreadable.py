"""Unreadable entries with a valid checksum: batches that cannot be decoded, and bad metadata. Each is acknowledged, so
that it is not redelivered for ever, and has no other effect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from assay_conformance.model.event import AgentEnded, Closed, Frame
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.checks.robustness._ignored import put_in
from assay_conformance.pulsar.timeline import (
    ConsumerSession,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    each,
    known_owner,
    ms,
)


class Unreadable(NamedTuple):
    """An entry that came to a consumer; `acks`: the individual ACKs of it on that session."""

    frame: Frame
    session: ConsumerSession
    handle: int
    entry: Entry
    acks: list[Frame]


class Clause(NamedTuple):
    """What is unreadable, and which ACK is expected then; `wants` a given one, `expected` is it in words."""

    what: str
    expected: str
    is_bad: Callable[[Frame], bool]
    wants: Callable[[Frame], bool]


def unreadable(timeline: Timeline, clause: Clause) -> list[Unreadable]:
    """All such entries that came to a consumer, in order."""
    acks: dict[tuple[int, Entry], list[Frame]] = defaultdict(list)
    found = []
    for frame in timeline.events.frames("MESSAGE"):
        session = timeline.consumer_sessions.of(frame) if clause.is_bad(frame) else None
        owner = None if session is None else known_owner(session, frame)
        if session is not None and owner is not None and frame.dir is Direction.TO_CLIENT and frame.to_receiver:
            entry = _entries(session, frame)[0]
            found.append(Unreadable(frame, session, owner.handle, entry, acks[id(session), entry]))
    for ack in timeline.events.frames("ACK") if found else ():
        session = timeline.consumer_sessions.of(ack)
        if session is not None and ack.from_sender and ack.ack_type != "Cumulative":
            for entry in _entries(session, ack):
                acks[id(session), entry].append(ack)
    return found


def _entries(session: ConsumerSession, frame: Frame) -> list[Entry]:
    return [Entry(session.topic, id.ledger, id.entry) for id in frame.ids]


def are_discarded(timeline: Timeline, clause: Clause, bad: list[Unreadable]) -> Says:
    """Each is acknowledged as the clause expects, and the connection goes on."""
    yield from each(bad, _is_reported, timeline, clause)
    yield from each(list(_last_of_connections(timeline, bad)), _goes_on, timeline, clause, [one.frame for one in bad])


def _is_reported(timeline: Timeline, clause: Clause, one: Unreadable) -> Says:
    frame = one.frame
    answer = next((ack for ack in one.acks if ack.seq > frame.seq and clause.wants(ack)), None)
    if answer is not None:
        yield Exercised(answer)
    for end in timeline.consumer_sessions.ends(one.session):
        if isinstance(end, Closed | AgentEnded) or (answer is not None and answer.seq < end.seq):
            return
        if end.seq > frame.seq and timeline.bounds.is_missing("answer", frame.t_ns, end.t_ns, what="an ACK"):
            yield breach(
                "not-reported",
                f"consumer {one.handle} got {one.entry} with {clause.what} at {ms(frame.t_ns)}; expected "
                f"{clause.expected}; none had left by {ms(end.t_ns)}",
                *(frame, end),
            )
            return


def _last_of_connections(timeline: Timeline, bad: list[Unreadable]) -> Iterator[Unreadable]:
    """The first that came soon before the end of its connection."""
    known: set[int] = set()
    for one in bad:
        left = timeline.connection(one.frame.conn).ended_by_client
        if one.frame.conn not in known and timeline.bounds.ended_soon_after(one.frame, left):
            known.add(one.frame.conn)
            yield one


def _goes_on(timeline: Timeline, clause: Clause, alike: list[Frame], one: Unreadable) -> Says:
    left = timeline.left_over_messages(one.frame, alike, or_died=True)
    if left is not None and not any(frame.conn == left.conn for frame in put_in(timeline)):
        yield breach(
            "connection-closed",
            f"{one.entry} came over connection {left.conn} at {ms(one.frame.t_ns)} with {clause.what}; expected the "
            f"client to go on without that message; it closed the connection at {ms(left.t_ns)}",
            *(one.frame, left),
        )
