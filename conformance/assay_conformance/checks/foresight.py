"""What only the whole history shows, read before the first event is judged.

Checks see events in order, and some things would come too late for them: load samples, which speak of the window before
them, and receipts of faults outside the frames, which stood by then; how a call ended that was only just made, since a
refused call never reached the client; whether an application chooses sequence ids itself; what a producer was called,
which its opening's completion says; and whose a producer session is.

A session is a PRODUCER frame and what follows it. It belongs to the producer whose payloads it carries. One that
carries none with an identity belongs to the only producer that can have written it: asked for by then and not closed
yet, on that topic and under that name; where two can have, to the one whose other sessions have that name, if a broker
made it up. Else, as when one is closed and another opened under its name at the same moment, the session belongs to
neither, and what either of them did not do is unknown. The name of a session that was lost before an opening ended is
perhaps none that its client ever read: that opening may have gone by another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from assay_conformance.checks.tolerance import LoadRecord
from assay_conformance.model.event import (
    AgentEnded,
    Began,
    Closed,
    Completion,
    Event,
    Fired,
    Frame,
    Healed,
    Identity,
    Invoke,
    Load,
    Meta,
    Outcome,
)
from assay_conformance.model.topic_names import base_topic, is_partition


@dataclass(slots=True)
class _Session:
    request: Frame
    name: str
    topic: str
    candidates: tuple[int, ...]
    claimed_by: int | None = None
    lost: int | None = None
    """`seq` of the end of its connection."""

    @property
    def is_unnamed(self) -> bool:
        """It asked for no name: what it is called is made up by a broker, which makes up another one for each."""
        return not self.request.fields.get("producer_name")

    @property
    def called(self) -> tuple[str, str]:
        """All partitions of a topic may share a name."""
        return base_topic(self.topic), self.name


@dataclass(slots=True)
class Foresight:
    """Empty until `read`."""

    load: LoadRecord = field(default_factory=LoadRecord)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    """Operation -> how it ended."""
    failed_sends: dict[int, list[Completion]] = field(default_factory=dict)
    """Producer handle -> how its sends that did not end well ended: a busy bench may hear of it after what the client
    made of it."""
    owners: dict[int, int] = field(default_factory=dict)
    """Number (`seq`) of a PRODUCER -> handle of the producer it is for, where that is certain."""
    unsure: set[int] = field(default_factory=set)
    """Producer handles that may have written a session of unknown owner: not all they sent and received is known."""
    explicit: set[int] = field(default_factory=set)
    """Producer handles whose application chose a sequence id: those may come twice, and in any order."""
    clients: dict[int, Invoke] = field(default_factory=dict)
    """Client handle -> its open_client."""
    chunk_of: dict[int, Identity] = field(default_factory=dict)
    """Number (`seq`) of a SEND of a chunk -> the message that it is of, where the last chunk followed."""
    _begun: dict[tuple[int, int, str | None], list[int]] = field(default_factory=dict)
    """Connection, producer id and uuid -> the chunks since the first one."""
    _asked_names: dict[int, str] = field(default_factory=dict)
    _given_names: dict[int, str] = field(default_factory=dict)
    _case_number: int = -1
    _topics: dict[str, str] = field(default_factory=dict)
    _openings: dict[int, Invoke] = field(default_factory=dict)
    _openings_on: dict[str | None, dict[int, Invoke]] = field(default_factory=dict)
    """The same by topic, without those that are gone."""
    _ends_with: dict[int | None, list[int]] = field(default_factory=dict)
    """Handle of a producer or client -> the producers that are gone once it is closed."""
    _opened: dict[int, int] = field(default_factory=dict)
    """Producer handle -> `seq` of the end of its opening."""
    _closed_while_opening: set[int] = field(default_factory=set)
    """Producers that were closed, or whose client was, before their opening ended: a client may go on with it."""
    _sessions: list[_Session] = field(default_factory=list)
    _sessions_on: dict[int, list[_Session]] = field(default_factory=dict)
    """By connection."""
    _current: dict[tuple[int, int], _Session] = field(default_factory=dict)
    _asked: dict[tuple[int, int], _Session] = field(default_factory=dict)

    def read(self, events: Iterable[Event]) -> None:
        """Read the whole history, once."""
        for event in events:
            kind = type(event)
            handler = _FRAMES.get(event.command) if kind is Frame else _HANDLERS.get(kind)  # type: ignore[union-attr]
            if handler is not None:
                handler(self, event)
        possible = [(session, self._possible_owners(session)) for session in self._sessions]
        holders: dict[tuple[str, str], set[int]] = {}
        for session, handles in possible:
            if len(handles) == 1:
                holders.setdefault(session.called, set()).update(handles)
        asked = self._asked_names.values()
        unnamed = (session for session in self._sessions if session.name and session.is_unnamed)
        made_up = {session.called for session in unnamed if session.name not in asked}
        for session, handles in possible:
            known = holders.get(session.called, set()) if session.called in made_up else set()
            certain = handles if len(handles) == 1 else [*known]
            if len(certain) == 1 and certain[0] in handles:
                self.owners[session.request.seq] = certain[0]
            else:
                self.unsure.update(handles)

    def _possible_owners(self, session: _Session) -> list[int]:
        if session.claimed_by is not None:
            return [session.claimed_by]
        name = session.name
        return [
            h
            for h in session.candidates
            if not name or self.may_be_called(h, name, session.topic) or self._lost_while_opening(session, h)
        ]

    def _lost_while_opening(self, session: _Session, handle: int) -> bool:
        """Return whether it asked for no name, and it is unknown whether the client read the one it was given."""
        return session.is_unnamed and session.lost is not None and session.lost < self._opened.get(handle, 0)

    def may_be_called(self, handle: int, name: str, topic: str) -> bool:
        """Return whether this name can be that producer's on `topic`: it is, or its name there is unknown.

        A broker gives each partition's producer a name of its own, and a client reports one of them.
        """
        given = name if is_partition(topic) else self._given_names.get(handle, name)
        return self._asked_names.get(handle, given) == name

    # --- one method an event type ---

    def _began(self, event: Began) -> None:
        self._case_number = event.number
        self._topics = event.topics

    def _load(self, event: Load) -> None:
        self.load.add(event)

    def _fired(self, event: Fired) -> None:
        self.load.fired(event.fault, event.action, event.t_ns)

    def _healed(self, event: Healed) -> None:
        self.load.healed(event.fault, event.t_ns)

    def _invoke(self, event: Invoke) -> None:
        if event.handle is None:
            return
        if event.verb == "open_client":
            self.clients[event.handle] = event
        elif event.verb == "open_producer":
            self._openings[event.handle] = event
            self._openings_on.setdefault(self._full_topic(event), {})[event.handle] = event
            for ends_with in (event.handle, event.args.get("client")):
                self._ends_with.setdefault(ends_with, []).append(event.handle)
            name = (event.args.get("config") or {}).get("producer_name")
            if name:
                self._asked_names[event.handle] = str(name)
        elif event.verb == "send" and "sequence_id" in event.args:
            self.explicit.add(event.handle)

    def _completion(self, event: Completion) -> None:
        self.outcomes.setdefault(event.op, event.outcome)
        handle = event.handle
        if handle is None:
            return
        if event.verb == "open_producer":
            self._opened[handle] = event.seq
            # One that failed to open may have opened on some partitions, and stays a candidate.
            if event.producer_name:
                self._given_names[handle] = event.producer_name
            if handle in self._closed_while_opening:
                self._is_gone(handle)
        elif event.verb == "send" and event.outcome is not Outcome.OK:
            self.failed_sends.setdefault(handle, []).append(event)
        elif event.verb == "close" and event.outcome is Outcome.OK:
            for gone in self._ends_with.get(handle, ()):
                if gone in self._opened:
                    self._is_gone(gone)
                else:
                    self._closed_while_opening.add(gone)

    def _is_gone(self, handle: int) -> None:
        self._openings_on.get(self._full_topic(self._openings[handle]), {}).pop(handle, None)

    def _closed(self, event: Closed) -> None:
        for session in self._sessions_on.pop(event.conn, ()):
            session.lost = event.seq

    def _agent_ended(self, event: AgentEnded) -> None:
        if event.killed:
            self._openings_on.clear()

    def _producer(self, event: Frame) -> None:
        if not event.from_sender or event.producer_id is None:
            return
        topic = str(event.fields.get("topic", ""))
        base = base_topic(topic)
        candidates = tuple(self._openings_on.get(base, ()))
        session = _Session(event, str(event.fields.get("producer_name") or ""), topic, candidates)
        self._sessions.append(session)
        self._sessions_on.setdefault(event.conn, []).append(session)
        self._current[event.conn, event.producer_id] = session
        if event.request_id is not None:
            self._asked[event.conn, event.request_id] = session

    def _full_topic(self, opening: Invoke) -> str | None:
        return self._topics.get(opening.args.get("topic", next(iter(self._topics), "")))

    def _producer_success(self, event: Frame) -> None:
        session = None if event.request_id is None else self._asked.get((event.conn, event.request_id))
        if session is not None:
            session.name = str(event.fields.get("producer_name") or session.name)

    def _send(self, event: Frame) -> None:
        if event.producer_id is None or not event.from_sender:
            return
        if event.meta is not None and event.meta.chunk_id is not None:
            self._chunk(event, event.producer_id, event.meta)
        session = self._current.get((event.conn, event.producer_id))
        if session is None or session.claimed_by is not None:
            return
        for member in event.members:
            identity = member.identity
            opening = None if identity is None else self._openings.get(identity.handle)
            if identity is None or opening is None or identity.case != self._case_number:
                continue
            # A consumer's copy for a retry or dead letter topic has the identity of the message it is a copy of.
            if self._full_topic(opening) == base_topic(session.topic):
                session.claimed_by = identity.handle
                return

    def _chunk(self, event: Frame, producer_id: int, meta: Meta) -> None:
        place = (event.conn, producer_id, meta.uuid)
        if meta.chunk_id == 0:
            self._begun[place] = []
        begun = self._begun.setdefault(place, [])
        begun.append(event.seq)
        joined = next((member.identity for member in event.members if member.identity is not None), None)
        if joined is not None:
            self.chunk_of.update(dict.fromkeys(begun, joined))


_HANDLERS: dict[type, Callable[[Foresight, Any], None]] = {
    # Of frames: `_FRAMES`.
    Began: Foresight._began,
    Load: Foresight._load,
    Fired: Foresight._fired,
    Healed: Foresight._healed,
    Invoke: Foresight._invoke,
    Completion: Foresight._completion,
    Closed: Foresight._closed,
    AgentEnded: Foresight._agent_ended,
}

_FRAMES: dict[str, Callable[[Foresight, Any], None]] = {
    "PRODUCER": Foresight._producer,
    "PRODUCER_SUCCESS": Foresight._producer_success,
    "SEND": Foresight._send,
}
