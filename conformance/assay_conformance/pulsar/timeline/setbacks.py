"""Setbacks: what took a producer or consumer from its topic, or kept it away, and what was done about it.

| setback                   | how it comes                                                                    |
|---------------------------|---------------------------------------------------------------------------------|
| an ERROR                  | the broker refuses its PRODUCER or SUBSCRIBE                                    |
| the end of a connection   | the one that it was admitted on, or on which its registration had no answer yet |
| a close of the broker     | CLOSE_PRODUCER or CLOSE_CONSUMER; the connection is kept                        |

One that was never admitted to a topic is being opened there: what it meets then is the open call's.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from assay_conformance.checks.leaving import is_busy
from assay_conformance.judging.tolerance import MS
from assay_conformance.model.event import AgentEnded, Event, Frame, Opened
from assay_conformance.model.fault import Direction
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline.consumers import Consumer
from assay_conformance.pulsar.timeline.producers import Producer
from assay_conformance.pulsar.timeline.registering import Registered, whose

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.timeline import Timeline

LONGEST_FIRST_WAIT_MS: Final = 7_000
"""pulsar-rs waits 5 s before each attempt, DotPulsar 3 s; a client that doubles waits from 100 ms on is back before."""

_LOOKUPS: Final = ("LOOKUP", "PARTITIONED_METADATA")
_ATTEMPTS: Final = ("PRODUCER", "SUBSCRIBE", *_LOOKUPS)


@dataclass(frozen=True, slots=True)
class Setback:
    """`began`: the first one since its owner was admitted there. `attempts`: what was tried meanwhile, until it was
    admitted again, or set back again (`over`).

    To whom a new connection or a LOOKUP belongs is not known: it counts for every one that is away from this topic, and
    so does a registration of another one there.
    """

    owner: Producer | Consumer
    topic: str
    event: Event
    began: Event
    attempts: Sequence[Event]
    over: Event | None

    @property
    def error(self) -> str | None:
        """What a registration was refused with; None for other setbacks."""
        return self.event.fields.get("error") if isinstance(self.event, Frame) else None

    @property
    def own_attempts(self) -> Iterator[Event]:
        """Registrations of its owner."""
        registered = {session.request.seq for session in self.owner.sessions}
        return (one for one in self.attempts if one.seq in registered)

    def given_up_ns(self, timeline: Timeline) -> int | None:
        """Until when nothing was tried for it, although an attempt was due and none was under way; None where its
        client did not give up. Raises `TooBusyError` on a machine that was too busy."""
        last_ns = timeline.bounds.until(self.owner.closing, *timeline.events.of(AgentEnded))
        first = next(iter(self.attempts), None)
        silences = [(self.event, timeline.bounds.until(last_ns, first, self.over))]
        if self.over is None and (rest := _rest(timeline, self)) is not None:
            silences.append((rest, last_ns))
        for since, until_ns in silences:
            if until_ns > self._due_ns(since):
                what = "whether a client only tried again late"
                timeline.bounds.check_fair("reconnect", self.event.t_ns, until_ns, what=what)
                return until_ns
        return None

    def _due_ns(self, rest: Event) -> int:
        """A wait that doubles is about as long as all those before it together."""
        return rest.t_ns + max(LONGEST_FIRST_WAIT_MS * MS, 2 * (rest.t_ns - self.began.t_ns))


def setbacks(timeline: Timeline) -> list[Setback]:
    """All of the attempt; those of one owner on one topic in order."""
    courses: dict[tuple[int, str], tuple[Producer | Consumer, list[Registered]]] = {}
    for one in timeline.registered:
        owner = whose(one.session, one.frame)
        if owner is not None:
            courses.setdefault((id(owner), one.session.topic), (owner, []))[1].append(one)
    tried = _Attempts(timeline)
    return [one for owner, course in courses.values() for one in _of_course(timeline, tried, owner, course)]


def _of_course(
    timeline: Timeline, tried: _Attempts, owner: Producer | Consumer, course: Sequence[Registered]
) -> Iterator[Setback]:
    topic = course[0].session.topic
    admitted = [one.session.admitted for one in course if one.session.admitted is not None]
    met = sorted(_met(timeline, course), key=_seq)
    met = [event for event in met if admitted and admitted[0].seq < event.seq]
    attempts = tried.on(topic) if met else ()
    began = met[0] if met else None
    for place, event in enumerate(met):
        if place and any(met[place - 1].seq < one.seq < event.seq for one in admitted):
            began = event
        ends = (one for one in (*admitted, *met[place + 1 : place + 2]) if one.seq > event.seq)
        over = min(ends, key=_seq, default=None)
        until = None if over is None else bisect_left(attempts, over.seq, key=_seq)
        since = bisect_right(attempts, event.seq, key=_seq)
        yield Setback(owner, topic, event, began or event, attempts[since:until], over)


def _met(timeline: Timeline, course: Sequence[Registered]) -> Iterator[Event]:
    for one, later in zip(course, [*course[1:], None], strict=True):
        came = _what_came(timeline, one)
        if came is not None and (later is None or came.seq < later.frame.seq):
            yield came


def _what_came(timeline: Timeline, one: Registered) -> Event | None:
    answers = timeline.answers_to(one.frame)
    refusal = next((answer for answer in answers if answer.command == "ERROR"), None)
    if refusal is not None:
        return refusal if timeline.was_read(refusal) else None
    return _end(timeline, one) if one.session.admitted is not None or not answers else None


def _end(timeline: Timeline, one: Registered) -> Event | None:
    """Its connection's end, or the broker's close of it; None where its client closed it before, or it had no end."""
    ends: list[Event] = []
    for close in timeline.events.frames_on(one.frame.conn, "CLOSE_PRODUCER", "CLOSE_CONSUMER", "UNSUBSCRIBE"):
        id = close.producer_id if one.kind == "producer" else close.consumer_id
        is_known = close.dir is Direction.TO_BROKER or close.to_receiver
        if is_known and id == one.id and close.seq > one.frame.seq:
            ends.append(close)
    lost = timeline.closed(one.frame.conn)
    first = min([*ends, *([] if lost is None else [lost])], key=_seq, default=None)
    return None if isinstance(first, Frame) and first.dir is Direction.TO_BROKER else first


class _Attempts:
    """What may have been tried for a topic: what was asked about it, and every new connection."""

    def __init__(self, timeline: Timeline) -> None:
        self._opened: Sequence[Event] = timeline.events.of(Opened)
        self._asked: dict[str, list[Event]] = {}
        for one in timeline.events.frames(*_ATTEMPTS):
            if one.from_sender:
                self._asked.setdefault(base_topic(timeline.local_topic(one)), []).append(one)
        self._on: dict[str, Sequence[Event]] = {}

    def on(self, topic: str) -> Sequence[Event]:
        """Those for a topic, in order."""
        base = base_topic(topic)
        if base not in self._on:
            self._on[base] = sorted((*self._asked.get(base, ()), *self._opened), key=_seq)
        return self._on[base]


def _rest(timeline: Timeline, setback: Setback) -> Event | None:
    """The last thing that was over for it; None where something is under way, or a look-up got an error that may be
    final."""
    steps = [setback.event]
    for attempt in setback.attempts:
        end = _end_of(timeline, attempt)
        is_final = isinstance(end, Frame) and end.fields.get("error") and not is_busy(end)
        if end is None or (is_final and isinstance(attempt, Frame) and attempt.command in _LOOKUPS):
            return None
        steps += [attempt, end]
    return max(steps, key=_seq)


def _end_of(timeline: Timeline, attempt: Event) -> Event | None:
    """The answer, or the end of the connection that it was waited for on."""
    if isinstance(attempt, Opened):
        handshake, lost = timeline.handshakes.on(attempt.conn), timeline.closed(attempt.conn)
        return lost if handshake is None else handshake.connected
    assert isinstance(attempt, Frame)
    return timeline.answers_to_requests.to(attempt) or timeline.closed(attempt.conn)


def _seq(event: Event) -> int:
    return event.seq
