"""Turns of calls that ask the broker: to open, close, seek, unsubscribe, or whether there is more to read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from assay_conformance.history.events import OPENS
from assay_conformance.judging.intervals import Interval, Intervals
from assay_conformance.model.event import Completion, ErrorClass, Event, Frame, Invoke
from assay_conformance.model.fault import Direction
from assay_conformance.model.topic_names import base_topic, named_topics
from assay_conformance.pulsar.timeline.handlers import called_ns
from assay_conformance.pulsar.timeline.interruptions import Interruption
from assay_conformance.pulsar.timeline.registering import Registration
from assay_conformance.pulsar.timeline.requests import HANDSHAKE
from assay_conformance.pulsar.timeline.sends import ended_ns

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.timeline import Timeline

_ASKING: Final = (
    *("open_producer", "open_consumer", "close"),
    *("seek", "unsubscribe", "has_message_available", "last_message_id"),
)
_PINGS: Final = frozenset({"PING", "PONG"})
_OWN: Final = (ErrorClass.INVALID_CONFIG, ErrorClass.CLOSED)
"""What a call fails with before it asks for anything."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A moment from which on the client could go on for one handle. `what`: in words, what it could do from `due` on;
    `came`: the event by which it did."""

    handle: int
    what: str
    due: Event
    due_ns: int
    came: Event
    came_ns: int


def topics_of(timeline: Timeline, opening: Invoke) -> frozenset[str]:
    """Return the topics (local names) that the call which opened a handle names."""
    first = timeline.topology.topics[0].name
    return frozenset(base_topic(timeline.local_name(str(one))) for one in named_topics(opening.args, first))


def named_registrations(timeline: Timeline) -> Iterator[tuple[Registration, Invoke]]:
    """Yield each registration for a topic that its application named, or that its pattern matches, with the call that
    opened it: a client registers producers of dead and retry letters of its own accord, and configures them itself.
    """
    for one in timeline.registrations:
        opening = timeline.opening_of(one.handle)
        if opening is None:
            continue
        if base_topic(timeline.local_topic(one.frame)) in topics_of(timeline, opening) or opening.args.get("pattern"):
            yield one, opening


def request_turns(timeline: Timeline) -> Iterator[Turn]:
    """Yield the turns between two moments of a call, of which the first is not the broker's turn.

    A new connection is greeted first. When a frame left is not known where brokers may not read at once.
    """
    frames = timeline.events.frames()
    for end in timeline.ends(*_ASKING):
        opening = timeline.opening_of(end.handle)
        call = timeline.call(end)
        if opening is None or end.error in _OWN or _is_behind_its_opening(timeline, call, opening):
            continue
        if end.verb != "close" and is_behind_close(timeline, call):
            continue
        topics = topics_of(timeline, opening)
        since, until = (bisect_right(frames, seq, key=lambda frame: frame.seq) for seq in (call.seq, end.seq))
        # A call may wait for earlier ones of its handle: what came before the client was called is about those.
        began_ns = called_ns(end)
        behind = (one for one in frames[since:until] if end.called_ns is None or one.t_ns >= end.called_ns)
        its = [one for one in behind if _is_about(timeline, one, opening.handle or 0, topics)]
        moments: list[tuple[Event, int]] = [(call, began_ns), *((one, one.t_ns) for one in its)]
        for (first, due_ns), (then, came_ns) in pairwise([*moments, (end, ended_ns(end))]):
            is_seen = isinstance(then, Completion) or timeline.view.is_read_at_once()
            if is_seen and not _is_brokers_turn(first) and not _is_ambiguous(timeline, first, opening, topics):
                yield Turn(end.handle or 0, f"its {end.verb} could go on", first, due_ns, then, came_ns)


def is_behind_close(timeline: Timeline, call: Invoke) -> bool:
    """Return whether it is a call on what was closed before.

    It may wait for a connection that will not come: Java's seek does, until the operation time-out.
    """
    closing = timeline.closing(call.handle)
    return closing is not None and closing.seq < call.seq


def _is_behind_its_opening(timeline: Timeline, call: Invoke, opening: Invoke) -> bool:
    """Return whether it was called before its handle was open, and waits for that."""
    return call is not opening and timeline.is_pending(opening, call)


def _is_ambiguous(timeline: Timeline, moment: Event, its: Invoke, topics: frozenset[str]) -> bool:
    """Return whether a moment may belong to another call.

    It greets a connection, which may be for another one, or answers a question about a topic on which several producers
    or consumers are being opened, or to which another one than `its` is on its way back.
    """
    if not isinstance(moment, Frame) or moment.command in HANDSHAKE:
        return isinstance(moment, Frame)
    if timeline.obstacles.about(moment).handle is not None:
        return False
    away = timeline.once(_away).at(moment.seq)
    if any(one.owner.handle != its.handle and base_topic(one.topic) in topics for one in away):
        return True
    opening = 0
    for call in timeline.events.invokes(*OPENS):
        opening += timeline.is_pending(call, moment) and not topics.isdisjoint(topics_of(timeline, call))
    return opening > 1


def _away(timeline: Timeline) -> Intervals[Interruption]:
    """Return the interruptions that are under way, from when to when."""
    return Intervals(
        Interval(one.event.seq, None if one.over is None else one.over.seq, one) for one in timeline.interruptions
    )


def _is_brokers_turn(moment: Event) -> bool:
    """Return whether it is the broker's turn: behind a request, or an answer that announces another one."""
    waits = isinstance(moment, Frame) and moment.fields.get("producer_ready") is False
    return waits or (isinstance(moment, Frame) and moment.dir is Direction.TO_BROKER)


def _is_about(timeline: Timeline, frame: Frame, handle: int, topics: frozenset[str]) -> bool:
    """Return whether a frame is about a handle. Pings are the connection's: the answer to one concerns no handle."""
    if frame.command in _PINGS:
        return False
    return frame.command in HANDSHAKE or timeline.obstacles.about(frame).concerns(handle, topics)
