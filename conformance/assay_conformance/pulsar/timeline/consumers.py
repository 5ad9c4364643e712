"""Consumers: as handles of the application, and on each connection.

A `Consumer` is one handle over all its connections. A `ConsumerSession` is what a SUBSCRIBE asks for, on one
connection: `admitted` is the SUCCESS, `ended` what ended it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.checks.tracker import OpenedConsumer as Consumer
from assay_conformance.history.events import Events, after, grouped, in_order
from assay_conformance.judging.certainty import UnknownError
from assay_conformance.model.event import AgentEnded, Ended, Event, Frame

__all__ = ["Call", "Consumer", "ConsumerSession", "ConsumerSessions", "Entry", "known_consumer", "known_owner"]


class ConsumerSessions:
    """Every consumer on every connection, and which frames are about it."""

    def __init__(self, events: Events, sessions: Sequence[ConsumerSession]) -> None:
        self.all = sessions
        self._events = events
        self._by_ids: dict[tuple[int, int], list[ConsumerSession]] = {}
        self._frames: dict[str, dict[int, list[Frame]]] = {}
        self._seeks: dict[tuple[str, str] | None, list[Frame]] | None = None
        for session in sessions:
            self._by_ids.setdefault((session.conn, session.consumer_id), []).append(session)

    def of(self, frame: Frame) -> ConsumerSession | None:
        """Return the consumer on its connection that a frame is about."""
        found = self._by_ids.get((frame.conn, -1 if frame.consumer_id is None else frame.consumer_id), ())
        place = bisect_right(found, frame.seq, key=_since)
        return found[place - 1] if place else None

    def frames(self, session: ConsumerSession, *commands: str) -> list[Frame]:
        """Return all frames of these commands that are about a session, in order."""
        if len(commands) == 1:
            return self._by_session(commands[0]).get(id(session), [])
        found = [frame for command in commands for frame in self._by_session(command).get(id(session), ())]
        return in_order(found)

    def seeks(self, topic: str, subscription: str) -> Sequence[Frame]:
        """Return the SEEKs of all consumers of a subscription on a topic, in order."""
        if self._seeks is None:
            known = ((self.of(seek), seek) for seek in self._events.frames("SEEK"))
            its = grouped(known, lambda one: None if one[0] is None else (one[0].topic, one[0].subscription))
            self._seeks = {place: [seek for _, seek in pairs] for place, pairs in its.items()}
        return self._seeks.get((topic, subscription), ())

    def let_in(self, session: ConsumerSession) -> Frame | None:
        """Return the first SUCCESS that its broker wrote.

        From then on the broker accepts the consumer's commands, although a fault may keep the answer from the client.
        """
        request, successes = session.request, self._events.frames_by("SUCCESS", "conn", "request_id")
        answers = successes.get((session.conn, request.request_id), ())
        return next((one for one in after(answers, request) if one.from_sender), None)

    def _by_session(self, command: str) -> dict[int, list[Frame]]:
        known = self._frames.get(command)
        if known is None:
            known = self._frames[command] = {}
            for frame in self._events.frames(command):
                session = self.of(frame)
                if session is not None:
                    known.setdefault(id(session), []).append(frame)
        return known

    def ends(self, session: ConsumerSession) -> list[Event]:
        """Return the events after which nothing more can be expected on it, in order: a seek, the end of its connection
        or of the consumer on it, or the end of the Case.
        """
        seeks: list[Event] = [*self.frames(session, "SEEK")]
        over: Iterable[Event] = (*self._events.of(AgentEnded), *self._events.of(Ended))
        if session.ended is not None:
            last = session.ended
            over = (*(end for end in over if end.seq < last.seq), last)
        return in_order([*seeks, *(end for end in over if end.seq > session.request.seq)])

    def end_after(self, session: ConsumerSession, event: Event) -> Event | None:
        """Return the first of its `ends` after an event."""
        return next((end for end in self.ends(session) if end.seq > event.seq), None)


def _since(session: ConsumerSession) -> int:
    return session.request.seq


def known_owner(session: ConsumerSession, event: Event) -> Consumer | None:
    """Return the consumer of a session at this event, None if that is not known."""
    until = session.known_until
    return session.consumer or (until[0] if until is not None and event.seq < until[1].seq else None)


def known_consumer(session: ConsumerSession, event: Event) -> Consumer:
    """Return the consumer of a session at this event; unknown if any of several may have written its SUBSCRIBE."""
    consumer = known_owner(session, event)
    if consumer is None:
        raise UnknownError("two consumers may have written the same SUBSCRIBE: it is unknown whose it was")
    return consumer
