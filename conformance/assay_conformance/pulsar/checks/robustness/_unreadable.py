"""Unreadable entries with a valid checksum: batches that cannot be decoded, and bad metadata. Each is acknowledged, so
that it is not redelivered for ever, and has no other effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.checks.robustness._ignored import put_in
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, each, ms
from assay_conformance.pulsar.timeline.unreadable import Unreadable, UnreadableMessages


class Clause(NamedTuple):
    """What is unreadable, and which ACK is expected then; `wants` a given one, `expected` is it in words."""

    what: str
    expected: str
    is_bad: Callable[[Frame], bool]
    wants: Callable[[Frame], bool]


def unreadable(timeline: Timeline, clause: Clause) -> UnreadableMessages:
    """Return all such entries that came to a consumer."""
    return UnreadableMessages(timeline, lambda frame: clause.what if clause.is_bad(frame) else None)


def judge_discarded(timeline: Timeline, clause: Clause, bad: UnreadableMessages) -> Says:
    """Judge whether each is acknowledged as the clause expects, and the connection goes on."""
    yield from each(bad.waited, _judge_reported, timeline, clause)
    yield from each(_last_of_connections(timeline, bad), _goes_on, timeline, clause, bad.frames)


def _judge_reported(timeline: Timeline, clause: Clause, waited: tuple[Unreadable, Event]) -> Says:
    (one, end), since_ns = waited, waited[0].frame.t_ns
    answer = next(filter(clause.wants, one.acks), None)
    if answer is not None:
        yield Exercised(answer)
    elif one.may_be_answered(end) and timeline.bounds.is_missing("answer", since_ns, end.t_ns, what="an ACK"):
        yield breach(
            "not-reported",
            f"consumer {one.consumer.handle} got {one.entry} with {clause.what} at {ms(since_ns)}; expected "
            f"{clause.expected}; none had left by {ms(end.t_ns)}",
            *(one.frame, end),
        )


def _last_of_connections(timeline: Timeline, bad: UnreadableMessages) -> Iterator[Unreadable]:
    """Yield the first that came soon before the end of its connection."""
    known: set[int] = set()
    for one in bad.messages:
        left = timeline.connection(one.frame.conn).ended_by_client
        if one.frame.conn not in known and timeline.bounds.ended_soon_after(one.frame, left):
            known.add(one.frame.conn)
            yield one


def _goes_on(timeline: Timeline, clause: Clause, alike: dict[int, list[Frame]], one: Unreadable) -> Says:
    left = timeline.left_over_messages(one.frame, alike[one.frame.conn], or_died=True)
    if left is not None and not any(frame.conn == left.conn for frame in put_in(timeline)):
        yield breach(
            "connection-closed",
            f"{one.entry} came over connection {left.conn} at {ms(one.frame.t_ns)} with {clause.what}; expected the "
            f"client to go on without that message; it closed the connection at {ms(left.t_ns)}",
            *(one.frame, left),
        )
