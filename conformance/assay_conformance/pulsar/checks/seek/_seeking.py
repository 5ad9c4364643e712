"""Each seek from its call to what is received after it.

Judged are consumers that are alone on their subscription, and seeks during which no receive was pending: otherwise it
is unknown which consumer moved the subscription, or when a message was received. A seek of several topics is one of
each of them: `seeks` leaves these out, `seeks_of_each_topic` has them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, product, takewhile
from math import inf

from assay_conformance.checks.consumption import from_client
from assay_conformance.history.events import between
from assay_conformance.model.event import Completion, Event, Frame, Invoke, MessageId, Outcome, Received
from assay_conformance.model.fault import Direction
from assay_conformance.model.topic_names import is_partition
from assay_conformance.pulsar.timeline import Consumer, ConsumerSession, Entry, Timeline
from assay_conformance.pulsar.timeline.readers import first_place


@dataclass(frozen=True, slots=True, eq=False)
class Sought:
    """One seek of one consumer on one topic, up to the next one. `old`: the session it had then; `beside`: another seek
    of the consumer was pending: then it is unknown to which of them frames belong; `disturbed`: from when on (the
    number of an event) it is not known which consumer moved the subscription, or what was received after it; `until`:
    the number of the next seek's call."""

    consumer: Consumer
    topic: str
    invoke: Invoke
    old: ConsumerSession | None
    until: float
    command: Frame | None
    """Its SEEK."""
    closed: Frame | None
    """The CLOSE_CONSUMER that the broker sent because of it."""
    answered: Frame | None
    completion: Completion | None
    beside: bool = False
    disturbed: float = inf

    @property
    def ended_ns(self) -> int:
        """When the call ended."""
        return self.invoke.t_ns if self.completion is None else self.completion.t_ns

    def is_done(self, at: Event) -> bool:
        """Return whether it had succeeded, and what came then is known to come after it."""
        end = self.completion
        return end is not None and end.outcome is Outcome.OK and end.seq <= at.seq < min(self.disturbed, self.until)

    def sessions(self) -> Iterator[ConsumerSession]:
        """Yield sessions in which the consumer subscribed again."""
        sessions = self.consumer.sessions
        since = len(sessions) if self.command is None else bisect_right(sessions, self.command.seq, key=_asked)
        return (sessions[place] for place in range(since, len(sessions)) if sessions[place].topic == self.topic)


def _asked(session: ConsumerSession) -> int:
    return session.request.seq


def seeks(timeline: Timeline) -> list[Sought]:
    """Return all seeks of consumers of one topic, consumer by consumer."""
    return [sought for sought in seeks_of_each_topic(timeline) if sought.consumer.topics == (sought.topic,)]


def seeks_of_each_topic(timeline: Timeline) -> list[Sought]:
    """Return all seeks, consumer by consumer, and topic by topic."""
    calls: dict[int, list[Invoke]] = {}
    for call in timeline.events.invokes("seek"):
        calls.setdefault(-1 if call.handle is None else call.handle, []).append(call)
    found: list[Sought] = []
    for handle, its in calls.items():
        consumer = timeline.consumer(handle)
        if consumer is not None:
            shared = _shared(timeline, consumer)
            for topic, (before, call, after) in product(
                _topics(consumer), zip([None, *its], its, [*its[1:], None], strict=False)
            ):
                beside = before is not None and timeline.is_pending(before, call)
                sought = _sought(timeline, consumer, topic, call, inf if after is None else after.seq)
                disturbed = min(shared, _receive_beside(timeline, call, sought.completion))
                found.append(replace(sought, beside=beside, disturbed=disturbed))
    return found


def _topics(consumer: Consumer) -> list[str]:
    """Return its topics and partitions that a seek moves: each that it asked for, or the partitions in place of it."""
    asked = dict.fromkeys(session.topic for session in consumer.sessions)
    return [*consumer.topics] if len(consumer.topics) == 1 and not any(map(is_partition, asked)) else [*asked]


def _sought(timeline: Timeline, consumer: Consumer, topic: str, call: Invoke, until: float) -> Sought:
    frames, old = timeline.consumer_sessions.frames, timeline.session_at(consumer, topic, call)
    command = closed = answered = None
    if old is not None:
        command = _first((one for one in frames(old, "SEEK") if from_client(one)), call, until)
    if old is not None and command is not None:
        closes = (one for one in frames(old, "CLOSE_CONSUMER") if one.dir is Direction.TO_CLIENT and one.to_receiver)
        successes = (one for one in timeline.answers_to(command) if one.command == "SUCCESS")
        closed, answered = _first(closes, command, until), _first(successes, command, until)
    end = timeline.end_of(call.op)
    end = end if end and end.seq < until else None
    return Sought(consumer, topic, call, old, until, command, closed, answered, end)


def _first(frames: Iterable[Frame], after: Event, until: float) -> Frame | None:
    return next((one for one in frames if after.seq < one.seq < until), None)


def _shared(timeline: Timeline, consumer: Consumer) -> float:
    """Return from when on another consumer may get the messages, and either may have written a SUBSCRIBE."""
    others = (one for one in timeline.consumers if one is not consumer and one.subscription == consumer.subscription)
    alike = (one.invoke.seq for one in others if set(one.topics) & set(consumer.topics))
    return min(alike, default=inf)


def _receive_beside(timeline: Timeline, seek: Invoke, end: Completion | None) -> float:
    """Return the first receive that was pending when a seek was called, or was called before that ended."""
    if timeline.pending.calls(seek.handle, "receive", seek):
        return seek.seq
    later = between(timeline.events.invokes_of(seek.handle, "receive"), seek, end).first
    return inf if later is None else later.seq


def received_after(timeline: Timeline, sought: Sought) -> Iterator[Received]:
    """Yield what the application got after a seek that succeeded.

    A consumer seeks its retry letter topic as well: what comes from there is left out.
    """
    messages, end = timeline.received(sought.consumer), sought.completion
    place = len(messages) if end is None else bisect_left(messages, end.seq, key=lambda message: message.seq)
    for message in takewhile(sought.is_done, islice(messages, place, None)):
        entry = timeline.entry_of(message)
        if entry is None or entry.topic == sought.topic:
            yield message


def entry_named(sought: Sought, message: Received) -> Entry:
    """Return the entry that a message's id names."""
    return Entry(sought.topic, message.message_id.ledger, message.message_id.entry)


def target_of(invoke: Invoke) -> str:
    """Return how sentences name the place where a seek goes."""
    if (time_ms := invoke.args.get("publish_time_ms")) is not None:
        return f"publish time {time_ms} ms"
    id = invoke.args.get("message_id")
    return "a message" if id is None else MessageId(*id).full_name


def id_asked(invoke: Invoke) -> MessageId | None:
    """Return the message at which a seek or an opening is to begin, if it names one."""
    named = invoke.args.get("message_id") or invoke.args.get("start_message_id")
    return None if named is None else MessageId(*named)


def lost_position(consumer: Consumer, at: Invoke | Received, event: Event) -> bool:
    """Return whether the consumer starts over where it began.

    The broker gets a time only once, so a subscription that is not durable loses it with its connection. It then
    subscribes once more than the seek itself requires. One that began at the end of its topic, and has read nothing,
    begins at the end of what there is by then.
    """
    durable = (consumer.invoke.args.get("config") or {}).get("durable", True)
    if durable or not isinstance(at, Invoke):
        return False
    those = [session for session in consumer.sessions if at.seq < session.request.seq < event.seq]
    at_end = at.verb == "open_consumer" and any(first_place(session) is None for session in those)
    return len(those) > 1 and (at_end or at.args.get("publish_time_ms") is not None)
