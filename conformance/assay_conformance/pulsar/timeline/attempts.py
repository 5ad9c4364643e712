"""What clients tried in order to come back to their topics: new connections, lookups and registrations."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from assay_conformance.checks.leaving import is_busy
from assay_conformance.history.events import Stretch, between, grouped, in_order
from assay_conformance.model.event import Event, Frame, Opened
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline.consumers import Consumer
from assay_conformance.pulsar.timeline.producers import PASSING_ERRORS, Producer
from assay_conformance.pulsar.timeline.registering import whose

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.timeline import Timeline

_LOOKUPS: Final = ("LOOKUP", "PARTITIONED_METADATA")
_ATTEMPTS: Final = ("PRODUCER", "SUBSCRIBE", *_LOOKUPS)


class Series:
    """Attempts in order, and what had come of those behind an event."""

    def __init__(self, timeline: Timeline, events: Sequence[Event]) -> None:
        self._timeline, self._events = timeline, events

    def between(self, since: Event, until: Event | None) -> Stretch[Event]:
        """Return the events behind one event and before another, in order."""
        return between(self._events, since, until)

    def rest_after(self, since: Event) -> Event | None:
        """Return the last thing that was over, the event itself where nothing was tried.

        None where something is under way, or an error came that may be final.
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
    """For a producer or consumer on one topic. Whose connections and lookups are is not known: `connections` are all,
    `requests` those about this topic; `own` are its own registrations."""

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
        """Return what may have been tried for it."""
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
    """Return whether nothing may follow: a lookup got an error, or a registration a final one that may have been read,
    or not, as its connection ended with it; or one of an unknown owner was admitted."""
    if not isinstance(attempt, Frame) or not isinstance(end, Frame) or is_busy(end):
        return False
    error = end.fields.get("error")
    if attempt.command in _LOOKUPS:
        return bool(error)
    if not error:
        return attempt.seq in timeline.once(_unowned)
    return error not in PASSING_ERRORS and not timeline.was_read(end)


def _unowned(timeline: Timeline) -> set[int]:
    """Return the registrations whose producer or consumer is not known."""
    return {one.frame.seq for one in timeline.registered if whose(one.session, one.frame) is None}


def _end_of(timeline: Timeline, attempt: Event) -> Event | None:
    """Return the answer, or the end of the connection on which it was awaited."""
    if isinstance(attempt, Opened):
        handshake, lost = timeline.handshakes.on(attempt.conn), timeline.closed(attempt.conn)
        return lost if handshake is None else handshake.connected
    assert isinstance(attempt, Frame)
    return timeline.answers_to_requests.to(attempt) or timeline.closed(attempt.conn)
