"""Interruptions: what disconnected a producer or consumer from its topic, or refused its reconnect, and the attempts
after that.

| interruption              | how it comes                                                                    |
|---------------------------|---------------------------------------------------------------------------------|
| an ERROR                  | the broker refuses its PRODUCER or SUBSCRIBE                                    |
| the end of a connection   | the one that it was admitted on, or on which its registration had no answer yet |
| a close of the broker     | CLOSE_PRODUCER or CLOSE_CONSUMER; the connection is kept                        |

Before a producer or consumer was first admitted to a topic it is being opened there, and the open call is judged
instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Final

from assay_conformance.history.events import Stretch, after, between, first_of
from assay_conformance.judging.tolerance import MS
from assay_conformance.model.event import AgentEnded, Closed, Event, Frame
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline.attempts import Attempts, Tried, seq
from assay_conformance.pulsar.timeline.registering import Owner, Registration, by_owner
from assay_conformance.pulsar.timeline.requests import CLOSES

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.timeline import Timeline

LONGEST_FIRST_WAIT_MS: Final = 7_000
"""pulsar-rs waits 5 s before each attempt, DotPulsar 3 s; a client that doubles its waits from 100 ms on has
reconnected before."""

_ENDS: Final = (*CLOSES, "UNSUBSCRIBE")


@dataclass(frozen=True, slots=True)
class Interruption:
    """`began`: the first one since its owner was admitted there. `over`: it was admitted again, or interrupted again.
    It is not known for whom a new connection or a LOOKUP is made: it counts for everyone that is disconnected from this
    topic, and so does a registration of another one there.
    """

    owner: Owner
    topic: str
    event: Event
    began: Event
    over: Event | None
    tried: Tried

    @property
    def words(self) -> str:
        """What happened, for a sentence about its owner."""
        if not isinstance(self.event, Frame):
            return "lost its connection"
        return f"was refused with {self.error}" if self.error else "was closed by the broker"

    @property
    def attempts(self) -> Iterator[Event]:
        """The attempts meanwhile, in order."""
        series = (self.tried.connections, self.tried.requests)
        return merge(*(one.between(self.event, self.over) for one in series), key=seq)

    @property
    def error(self) -> str | None:
        """The error that refused a registration; None for other interruptions."""
        return self.event.fields.get("error") if isinstance(self.event, Frame) else None

    @property
    def own_attempts(self) -> Stretch[Event]:
        """Registrations of its owner."""
        return between(self.tried.own, self.event, self.over)

    def given_up_ns(self, timeline: Timeline) -> int | None:
        """Return until when no attempt was made, although one was due and none was pending. None if its client did not
        give up. Raises `TooBusyError` on a machine that was too busy.
        """
        last_ns = timeline.bounds.until(self.owner.closing, *timeline.events.of(AgentEnded))
        first = next(self.attempts, None)
        silences = [(self.event, timeline.bounds.until(last_ns, first, self.over))]
        if self.over is None and (rest := self._rest()) is not None:
            silences.append((rest, last_ns))
        for since, until_ns in silences:
            if until_ns > self._due_ns(since) + self._unnoticed_ns(timeline, since):
                what = "whether a client only tried again late"
                timeline.bounds.check_fair("reconnect", self.event.t_ns, until_ns, what=what)
                return until_ns
        return None

    def _rest(self) -> Event | None:
        """Return the end of its last attempt; None if an attempt is pending, or its error may be final."""
        rests = [one.rest_after(self.event) for one in (self.tried.connections, self.tried.requests)]
        over = [rest for rest in rests if rest is not None]
        return max(over, key=seq) if len(over) == len(rests) else None

    def _due_ns(self, rest: Event) -> int:
        """Return when an attempt is due: a wait that doubles is about as long as all those before it together."""
        return rest.t_ns + max(LONGEST_FIRST_WAIT_MS * MS, 2 * (rest.t_ns - self.began.t_ns))

    def _unnoticed_ns(self, timeline: Timeline, since: Event) -> int:
        """Return for how long its client may not notice that it has to try again. Some clients end a request at once
        when its connection is lost, others at its time-out: pulsar-flex.
        """
        if not isinstance(since, Closed) or not any(_was_lost_with(timeline, one, since) for one in self.tried.own):
            return 0
        return timeline.operation_timeout_ns(self.owner.handle)


def _was_lost_with(timeline: Timeline, registration: Event, lost: Closed) -> bool:
    """Return whether a registration had no answer when its connection ended."""
    if not isinstance(registration, Frame) or registration.conn != lost.conn:
        return False
    return timeline.answers_to_requests.to(registration) is None


def interruptions(timeline: Timeline) -> list[Interruption]:
    """Return all interruptions of the attempt; those of one owner on one topic in order."""
    attempts = Attempts(timeline)
    registered = by_owner(timeline.registrations)
    return [one for owner, its in registered for one in _of_owner(timeline, attempts, owner, its)]


def _of_owner(
    timeline: Timeline, attempts: Attempts, owner: Owner, registered: Sequence[Registration]
) -> Iterator[Interruption]:
    admitted = [one.session.admitted for one in registered if one.session.admitted is not None]
    met = [event for event in _met(timeline, registered) if admitted and admitted[0].seq < event.seq]
    admitted.sort(key=seq)
    met.sort(key=seq)
    topic, began = registered[0].session.topic, None
    for event, later in zip(met, [*met[1:], None], strict=False):
        began = began or event
        again = next(after(admitted, event), None)
        over = first_of(*(again, later))
        yield Interruption(owner, topic, event, began, over, attempts.of(owner, topic))
        if over is again:
            began = None


def _met(timeline: Timeline, registered: Sequence[Registration]) -> Iterator[Event]:
    for one, later in zip(registered, [*registered[1:], None], strict=True):
        came = _what_came(timeline, one)
        if came is not None and (later is None or came.seq < later.frame.seq):
            yield came


def _what_came(timeline: Timeline, one: Registration) -> Event | None:
    if one.refusal is not None:
        return one.refusal if timeline.was_read(one.refusal) else None
    return _end(timeline, one) if one.session.admitted is not None or one.answer is None else None


def _end(timeline: Timeline, one: Registration) -> Event | None:
    """Return its connection's end, or the broker's close of it.

    None where its client closed it before, or it had no end.
    """
    by_id = ("conn", "producer_id") if one.kind == "producer" else ("conn", "consumer_id")
    closes = (timeline.events.frames_by(command, *by_id).get((one.frame.conn, one.id), ()) for command in _ENDS)
    ends: list[Event] = [end for those in closes for end in islice(filter(_is_known, after(those, one.frame)), 1)]
    lost = timeline.closed(one.frame.conn)
    first = first_of(*ends, None if lost is None or lost.seq < one.frame.seq else lost)
    return None if isinstance(first, Frame) and first.dir is Direction.TO_BROKER else first


def _is_known(close: Frame) -> bool:
    """Return whether the client wrote or got it."""
    return close.dir is Direction.TO_BROKER or close.to_receiver
