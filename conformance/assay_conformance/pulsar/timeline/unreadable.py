"""Unreadable messages: MESSAGEs that a client has to discard, how it answered each, and what permits were left then.
What makes a MESSAGE unreadable differs from clause to clause; what happens to it is derived here. The same entry may
also come in a copy that can be read: the application may get that one, and acknowledge it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from assay_conformance.checks.consumption import entry_on, from_client, of_earlier_epoch, plain_acks, to_client
from assay_conformance.model.event import AgentEnded, Closed, Event, Frame, Received
from assay_conformance.pulsar.timeline.consumers import Consumer, ConsumerSession, Entry, known_owner
from assay_conformance.pulsar.timeline.deliveries import CUMULATIVE, REDELIVER
from assay_conformance.pulsar.timeline.timeline import Timeline


@dataclass(slots=True, eq=False)
class Unreadable:
    """One such MESSAGE. `error`: what its ACK has to name; `taken`: messages of its entry that the application got
    beyond those of copies that can be read; `acks`: the individual ACKs of its entry, while its session lasts;
    `answer`: the first that is not for such a copy; `was_taken`: the application had got a message of its entry by
    then."""

    consumer: Consumer
    session: ConsumerSession
    frame: Frame
    entry: Entry
    error: str
    messages: int
    taken: list[Received] = field(default_factory=list)
    acks: list[Frame] = field(default_factory=list)
    answer: Frame | None = None
    was_taken: bool = False

    def may_be_answered(self, end: Event) -> bool:
        """Return whether the client could go on until an end of its session, and is known."""
        return not isinstance(end, Closed | AgentEnded) and known_owner(self.session, end) is not None

    @property
    def left_queue(self) -> int:
        """How many of its messages left the client's queue: one that it takes for good lies there until it is taken."""
        return min(len(self.taken), self.messages) if self.answer is None else self.messages


@dataclass(slots=True)
class Usage:
    """How many messages came on one session, and how many of those that can be read left the client's queue. `last_ns`:
    when something last came or left."""

    came: int = 0
    left_queue: int = 0
    last_ns: int = 0


class Ending(NamedTuple):
    """`end` is the first event after these messages from which on nothing more can be expected on their session.
    `usage`: of that session, what left the queue of these messages included."""

    end: Event
    messages: list[Unreadable]
    usage: Usage

    @property
    def last(self) -> Unreadable:
        """The last of the messages."""
        return self.messages[-1]


class UnreadableMessages:
    """All of the attempt that came to known consumers, in order. One that was held back until its consumer reconnected,
    or that is of an epoch before the one its client requested, has no ending. `frames`: by connection, those of all
    consumers."""

    def __init__(self, timeline: Timeline, error_of: Callable[[Frame], str | None]) -> None:
        self.messages: list[Unreadable] = []
        self.endings: list[Ending] = []
        self.frames: dict[int, list[Frame]] = {}
        errors: dict[int, str] = {}
        owners: dict[int, Consumer] = {}
        for frame in timeline.events.frames("MESSAGE"):
            error = error_of(frame) if to_client(frame) else None
            if error is None:
                continue
            errors[frame.seq] = error
            self.frames.setdefault(frame.conn, []).append(frame)
            owner = timeline.consumer_of(frame)
            if owner is not None:
                owners[owner.handle] = owner
        for owner in owners.values():
            walk = _Walk(timeline, owner, errors)
            self.messages += walk.messages
            self.endings += walk.endings
        self.messages.sort(key=lambda one: one.frame.seq)
        self.endings.sort(key=lambda one: one.end.seq)

    @property
    def waited(self) -> Iterator[tuple[Unreadable, Event]]:
        """Each message, with the end of what it could be answered in."""
        return ((message, ending.end) for ending in self.endings for message in ending.messages)


_Step = tuple[Event, Callable[[Any, Any], None], ConsumerSession | None]


class _Walk:
    """Through all that happened to one consumer. `errors`: number of an unreadable MESSAGE -> what its ACK has to
    name."""

    def __init__(self, timeline: Timeline, consumer: Consumer, errors: dict[int, str]) -> None:
        self.messages: list[Unreadable] = []
        self.endings: list[Ending] = []
        self._timeline, self._consumer, self._errors = timeline, consumer, errors
        self._open: dict[Entry, list[Unreadable]] = {}
        self._readable: Counter[Entry] = Counter()
        self._taken: Counter[Entry] = Counter()
        self._usages: dict[int, Usage] = {}
        self._latest: dict[str, ConsumerSession] = {}
        self._requests: dict[int, Frame] = {}
        for event, see, session in sorted(self._steps(), key=lambda step: step[0].seq):
            see(session, event)

    def _steps(self) -> Iterator[_Step]:
        sessions = self._timeline.consumer_sessions
        for session in self._consumer.sessions:
            yield session.request, self._subscribed, session
            for frame in sessions.frames(session, "MESSAGE"):
                if to_client(frame) and known_owner(session, frame) is self._consumer:
                    yield frame, self._came, session
            for frame in sessions.frames(session, "ACK"):
                if from_client(frame) and frame.ack_type != CUMULATIVE:
                    yield frame, self._acked, session
            for frame in sessions.frames(session, REDELIVER):
                if from_client(frame):
                    yield frame, self._asked_again, session
            for end in sessions.ends(session):
                yield end, self._over, session
        for message in self._timeline.received(self._consumer):
            yield message, self._handed, None

    def _usage(self, session: ConsumerSession) -> Usage:
        return self._usages.setdefault(id(session), Usage())

    def _subscribed(self, session: ConsumerSession, _: Frame) -> None:
        self._latest[session.topic] = session

    def _came(self, session: ConsumerSession, frame: Frame) -> None:
        entry, error = entry_on(session, frame.ids[0]), self._errors.get(frame.seq)
        # How many messages a damaged entry holds, its own metadata says: a client that returns one permit is right.
        count = frame.messages if frame.intact else 1
        message = None if error is None else Unreadable(self._consumer, session, frame, entry, error, count)
        if message is not None:
            self.messages.append(message)
        if session.admitted is None or session.admitted.seq > frame.seq:
            return  # Held back from an earlier session: no consumer is attached yet that could take it.
        usage = self._usage(session)
        usage.came += count
        usage.last_ns = frame.t_ns
        if message is None:
            self._readable[entry] += count
        elif not self._is_stale(message):
            self._open.setdefault(entry, []).append(message)

    def _asked_again(self, session: ConsumerSession, request: Frame) -> None:
        """Note a request for everything.

        Messages of an earlier epoch may have crossed it, which a client drops unread.
        """
        self._requests[id(session)] = request
        for entry, alike in self._open.items():
            self._open[entry] = [one for one in alike if one.answer is not None or not self._is_stale(one)]

    def _is_stale(self, message: Unreadable) -> bool:
        request = self._requests.get(id(message.session))
        return request is not None and of_earlier_epoch(message.frame, request)

    def _handed(self, _: None, received: Received) -> None:
        entry = self._timeline.entry_of(received)
        if entry is None:
            return
        self._taken[entry] += 1
        session = self._latest.get(entry.topic)
        if session is not None:
            self._usage(session).last_ns = received.t_ns
        if self._open.get(entry) and self._taken[entry] > self._readable[entry]:
            self._open[entry][0].taken.append(received)
        elif session is not None:
            self._usage(session).left_queue += 1

    def _acked(self, session: ConsumerSession, frame: Frame) -> None:
        for entry in {entry_on(session, id) for id in frame.ids}:
            may_be_of_a_copy = plain_acks(frame) and self._readable[entry] > 0
            for message in self._open.get(entry, ()):
                if message.session is not session:
                    continue
                message.acks.append(frame)
                if message.answer is None and not may_be_of_a_copy:
                    message.answer, message.was_taken = frame, self._taken[entry] > 0
                    self._usage(session).last_ns = frame.t_ns

    def _over(self, session: ConsumerSession, end: Event) -> None:
        waiting = [one for messages in self._open.values() for one in messages]
        over = sorted((one for one in waiting if one.session is session), key=lambda one: one.frame.seq)
        if not over:
            return
        self._open = {}
        for one in waiting:
            if one.session is not session:
                self._open.setdefault(one.entry, []).append(one)
        usage = self._usage(session)
        left_queue = usage.left_queue + sum(one.left_queue for one in over)
        self.endings.append(Ending(end, over, replace(usage, left_queue=left_queue)))
