"""Obstacles of a call: everything that may be a legitimate reason for its failure.

An obstacle is an event: an error, the end of a session or of a connection, a frame that a fault touched, a fault that
lasts, a request without an answer. It counts for a handle unless it is known to belong to another handle, or to topics
that the handle does not use.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from assay_conformance.model.event import (
    AgentEnded,
    Closed,
    Completion,
    ErrorClass,
    Event,
    Fate,
    Fired,
    Frame,
    Healed,
    Opened,
    Undecodable,
)
from assay_conformance.model.fault import Direction
from assay_conformance.model.outside import TAGS
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline.connections import Why
from assay_conformance.pulsar.timeline.registering import whose
from assay_conformance.pulsar.timeline.requests import CLOSES, REQUESTS
from assay_conformance.pulsar.timeline.sends import IN_FLIGHT_NS

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.timeline import Timeline

_ORDERS: Final = frozenset({"TOPIC_MIGRATED", *CLOSES})

_LASTING: Final = frozenset({"cut", "refuse", "hold", "resegment", *TAGS})
"""Faults that are obstacles for as long as they last; other faults affect only the frames that they touch."""


class About(NamedTuple):
    """Whose a frame is: the handle where that is known, else the topic (a local name) where it names one."""

    handle: int | None = None
    topic: str | None = None

    def concerns(self, handle: int, topics: frozenset[str]) -> bool:
        """Return whether it may concern this handle, which uses these topics."""
        if self.handle is not None:
            return self.handle == handle
        return self.topic is None or self.topic in topics


class Obstacle(NamedTuple):
    """`is_error`: a broker's answer that refuses something."""

    event: Event
    about: About
    is_error: bool = False


class Obstacles:
    """Those of one attempt, in order."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._asked = {
            (frame.conn, frame.request_id): frame
            for frame in timeline.events.frames()
            if frame.dir is Direction.TO_BROKER and frame.request_id is not None and frame.from_sender
        }
        self._found = sorted(self._walk(), key=_seq)
        self._latest_ns = [*accumulate((one.event.t_ns for one in self._found), max)]
        """The same up to each event: a handle that often fails has many obstacles, and each call asks for them."""

        # A process, or a client that leaves its connection, ends its calls first: the bench sees the end after theirs.
        ends: list[Event] = [*timeline.events.of(AgentEnded), *timeline.events.of(Closed)]
        self._ends_behind = [Obstacle(one, About()) for one in ends if not timeline.has_begun_to_end(one.seq)]

    def about(self, frame: Frame) -> About:
        """Return whose a frame is, whichever side wrote it."""
        timeline = self._timeline
        if frame.consumer_id is not None or frame.producer_id is not None:
            session = timeline.registered(frame)
            owner, topic = whose(session, frame), None if session is None else base_topic(session.topic)
            return About(None if owner is None else owner.handle, topic)
        if frame.fields.get("topic"):
            return About(topic=base_topic(timeline.local_topic(frame)))
        request = self._asked.get((frame.conn, frame.request_id)) if frame.request_id is not None else None
        return About() if request is None or request is frame else self.about(request)

    def between(self, since_ns: int, until: Event, handle: int, topics: Iterable[str]) -> Iterator[Obstacle]:
        """Yield the obstacles of a handle between a time and an event, and those that lasted then."""
        named = frozenset(map(base_topic, topics))
        first, behind = bisect_left(self._latest_ns, since_ns), bisect_left(self._found, until.seq, key=_seq)
        for place in range(first, behind):
            one = self._found[place]
            if one.event.t_ns >= since_ns and one.about.concerns(handle, named):
                yield one
        yield from (one for one in self._ends_behind if one.event.seq > until.seq and _is_soon(one.event, until))
        yield from self._lasting(since_ns, until)
        yield from self._unreadable(since_ns, until)
        yield from self._unanswered(since_ns, until, handle, named)

    def _walk(self) -> Iterator[Obstacle]:
        timeline = self._timeline
        for frame in timeline.events.frames():
            turns_away = frame.dir is Direction.TO_CLIENT and _turns_away(frame)
            if turns_away or frame.fate is not Fate.PASSED:
                is_error = turns_away and frame.command not in _ORDERS
                yield Obstacle(frame, self.about(frame), is_error=is_error)
        unused = timeline.left_unused
        ends: list[Event] = [one for one in timeline.events.of(Closed) if one.conn not in unused]
        for event in (*ends, *timeline.events.of(Undecodable), *timeline.events.of(AgentEnded)):
            yield Obstacle(event, About())

    def _lasting(self, since_ns: int, until: Event) -> Iterator[Obstacle]:
        healed = {one.fault: one for one in self._timeline.events.of(Healed)}
        for fired in self._timeline.events.of(Fired):
            end = healed.get(fired.fault)
            is_over = end is not None and end.t_ns < since_ns
            if fired.seq < until.seq and fired.action in _LASTING and not is_over:
                yield Obstacle(fired, About())

    def _unreadable(self, since_ns: int, until: Event) -> Iterator[Obstacle]:
        """Yield bytes that are no frame: no answer after them can be read, for as long as their connection lasts."""
        for connection in self._timeline.connections.values():
            is_over = connection.closed is not None and connection.closed.t_ns < since_ns
            for reason in connection.before(until):
                if reason.why is Why.NOT_A_FRAME and not is_over:
                    yield Obstacle(reason.event, About())

    def _unanswered(self, since_ns: int, until: Event, handle: int, topics: frozenset[str]) -> Iterator[Obstacle]:
        """Yield requests and handshakes that were pending when the call ended, or had ended just before."""
        timeline, read_by_ns = self._timeline, _read_by_ns(until)
        for request in timeline.events.frames(*REQUESTS):
            closed = timeline.closed(request.conn)
            if request.dir is Direction.TO_CLIENT or not request.from_sender:
                continue
            if request.seq > until.seq or (closed is not None and closed.t_ns < since_ns):
                continue
            answer = timeline.answers_to_requests.to(request)
            if (answer is None or answer.seq > until.seq or answer.t_ns > read_by_ns) and self.about(request).concerns(
                handle, topics
            ):
                yield Obstacle(request, self.about(request))
        greeted = {one.conn: one for one in timeline.events.frames("CONNECTED") if one.to_receiver}
        for opened in timeline.events.of(Opened):
            closed, word = timeline.closed(opened.conn), greeted.get(opened.conn)
            gone = closed is not None and closed.t_ns < since_ns
            if opened.seq < until.seq and not gone and (word is None or word.seq > until.seq or word.t_ns > read_by_ns):
                yield Obstacle(opened, About())


def _seq(obstacle: Obstacle) -> int:
    return obstacle.event.seq


def _is_soon(event: Event, behind: Event) -> bool:
    return event.t_ns - behind.t_ns <= IN_FLIGHT_NS


def _read_by_ns(end: Event) -> int:
    """Return by when an answer must have been written for its call to end with it: a time-out may come just before."""
    is_time_out = isinstance(end, Completion) and end.error is ErrorClass.TIMEOUT
    return end.t_ns - (IN_FLIGHT_NS if is_time_out else 0)


def _turns_away(frame: Frame) -> bool:
    """Return whether a frame towards the client ends or refuses something of it."""
    return frame.command in ("ERROR", "SEND_ERROR", *_ORDERS) or bool(frame.fields.get("error"))
