"""Attempts of clients to reconnect to their topics: new connections, lookups and registrations."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from assay_conformance.checks.leaving import is_busy
from assay_conformance.history.events import Stretch, between, grouped, in_order
from assay_conformance.model.event import Event, Frame, Opened
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.outcomes.errors import PASSING_ERRORS
from assay_conformance.pulsar.timeline.consumers import Consumer
from assay_conformance.pulsar.timeline.producers import Producer
from assay_conformance.pulsar.timeline.requests import LOOKUPS

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.timeline import Timeline

_ATTEMPTS: Final = ("PRODUCER", "SUBSCRIBE", *LOOKUPS)


class Series:
    """Attempts in order, and the outcomes of those after an event."""

    def __init__(self, timeline: Timeline, events: Sequence[Event]) -> None:
        self._timeline, self._events = timeline, events

    def between(self, since: Event, until: Event | None) -> Stretch[Event]:
        """Return the events after one event and before another, in order."""
        return between(self._events, since, until)

    def rest_after(self, since: Event) -> Event | None:
        """Return the end of the last attempt, the event itself if nothing was tried; None if an attempt is in progress,
        or an error came that may be final.
        """
        place = bisect_right(self._events, since.seq, key=seq)
        return self._rests[place] if place < len(self._events) else since

    @cached_property
    def _rests(self) -> Sequence[Event | None]:
        """From each attempt on."""
        rests: list[Event | None] = []
        for attempt in reversed(self._events):
            end, later = _end_of(self._timeline, attempt), rests[-1] if rests else attempt
            if end is None or later is None or _may_be_final(self._timeline, attempt, end):
                rests.append(None)
            else:
                rests.append(max(attempt, end, later, key=seq))
        return rests[::-1]


class Tried(NamedTuple):
    """Attempts for a producer or consumer on one topic. It is not known for whom connections and lookups are made:
    `connections` are all of them, `requests` those about this topic; `own` are its own registrations."""

    connections: Series
    requests: Series
    own: Sequence[Event]


class Attempts:
    """Those of one history."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._connections = Series(timeline, timeline.events.of(Opened))
        asked = (one for one in timeline.events.frames(*_ATTEMPTS) if one.from_sender)
        self._requests = {topic: Series(timeline, events) for topic, events in grouped(asked, self._topic).items()}
        self._own: dict[int, dict[str, list[Frame]]] = {}

    def of(self, owner: Producer | Consumer, topic: str) -> Tried:
        """Return the attempts that may have been made for it."""
        base = base_topic(topic)
        requests = self._requests.get(base) or Series(self._timeline, ())
        return Tried(self._connections, requests, self._registrations(owner).get(base, ()))

    def _registrations(self, owner: Producer | Consumer) -> dict[str, list[Frame]]:
        """Return the registrations by topic, in order."""
        if id(owner) not in self._own:
            requests = (session.request for session in owner.sessions if session.request.from_sender)
            self._own[id(owner)] = grouped(in_order(requests), self._topic)
        return self._own[id(owner)]

    def _topic(self, request: Frame) -> str:
        return base_topic(self._timeline.local_topic(request))


def seq(event: Event) -> int:
    """Return the place of an event in its history."""
    return event.seq


def _may_be_final(timeline: Timeline, attempt: Event, end: Event) -> bool:
    """Return whether no further attempt need follow: a lookup got an error; a registration got a final error, or its
    connection ended with that error, so that it may not have been read; or a registration of an unknown owner was
    admitted."""
    if not isinstance(attempt, Frame) or not isinstance(end, Frame) or is_busy(end):
        return False
    error = end.fields.get("error")
    if attempt.command in LOOKUPS:
        return bool(error)
    if not error:
        return attempt.seq in timeline.once(_unowned)
    return error not in PASSING_ERRORS and not timeline.was_read(end)


def _unowned(timeline: Timeline) -> set[int]:
    """Return the registrations whose producer or consumer is not known."""
    return {one.frame.seq for one in timeline.registrations if one.owner is None}


def _end_of(timeline: Timeline, attempt: Event) -> Event | None:
    """Return the answer, or the end of the connection on which it was awaited."""
    if isinstance(attempt, Opened):
        handshake, lost = timeline.handshakes.on(attempt.conn), timeline.closed(attempt.conn)
        return lost if handshake is None else handshake.connected
    assert isinstance(attempt, Frame)
    return timeline.answers_to_requests.to(attempt) or timeline.closed(attempt.conn)
