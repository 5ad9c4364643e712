"""Consumers of a pattern: which topics they subscribe to, and how soon.

A Case says which of its topics match; the consumer is judged by its SUBSCRIBEs. A topic is not expected of a consumer
that has since lost its connection, nor after a fault on its lookups or their answers, for which it waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

from assay_conformance.checks.consumption import from_client, is_torn
from assay_conformance.model.event import Completion, Ended, Event, Frame, Invoke, Outcome
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import MS, Consumer, Exercised, Says, Timeline, breach, ms

LOOKUPS = (
    *("GET_TOPICS_OF_NAMESPACE", "GET_TOPICS_OF_NAMESPACE_RESPONSE"),
    *("PARTITIONED_METADATA", "PARTITIONED_METADATA_RESPONSE"),
    *("LOOKUP", "LOOKUP_RESPONSE"),
)
"""The lookups and answers that precede the SUBSCRIBE to a topic."""


@dataclass(frozen=True, slots=True, eq=False)
class Follower:
    """A consumer of a pattern. `opened`: how its opening ended; `closed`: the first call that closes it after that, or
    the end of its agent."""

    consumer: Consumer
    opened: Completion
    closed: Event | None

    @property
    def pattern(self) -> str:
        """As the application gave it."""
        return repr(self.consumer.invoke.args["pattern"])

    def is_open(self, at: Event) -> bool:
        """Return whether it was open at an event."""
        return self.opened.seq < at.seq < (inf if self.closed is None else self.closed.seq)

    def is_there(self, topic: str, at: Event) -> bool:
        """Return whether it had subscribed to a topic."""
        before = (one for one in self.consumer.sessions if one.request.seq < at.seq)
        return any(base_topic(session.topic) == topic for session in before)

    def is_ambiguous(self, topic: str) -> bool:
        """Return whether a SUBSCRIBE to a topic came from one of several consumers, and it is unknown from which."""
        return any(base_topic(unsure) == topic for unsure in self.consumer.unsure)


def followers(timeline: Timeline) -> Iterator[Follower]:
    """Yield all followers that were opened well, but for those that the application had closed, or their client, while
    they were opened: they owe no subscription, and whose a SUBSCRIBE after that close is cannot be known."""
    for end in timeline.events.completions("open_consumer"):
        consumer = timeline.consumer(end.handle)
        if consumer is None or end.outcome is not Outcome.OK or not consumer.invoke.args.get("pattern"):
            continue
        closed = timeline.over(consumer.invoke)
        if closed is None or closed.seq > end.seq:
            yield Follower(consumer, end, closed)


@dataclass(frozen=True, slots=True, eq=False)
class Due:
    """A topic was created, or was named to the client, by `event`. `end`: its SUBSCRIBE, or else what it was due
    before."""

    follower: Follower
    topic: str
    event: Event
    due_ns: int
    end: Event


def due(timeline: Timeline, follower: Follower, events: Iterable[tuple[str, Event]], within_ms: int) -> Iterator[Due]:
    """Yield what it had to subscribe to, of the topics that came by these events, in order."""
    settled: dict[str, float] = {}
    for topic, event in events:
        matches = topic in follower.consumer.topics and follower.is_open(event)
        if not matches or event.seq < settled.get(topic, 0) or follower.is_there(topic, event):
            continue
        ends = (end for end in _ends(timeline, follower, topic) if end.seq > event.seq)
        end = min(ends, key=lambda one: one.seq, default=None)
        settled[topic] = inf if end is None else end.seq
        if isinstance(end, Invoke | Ended) or (isinstance(end, Frame) and end.command == "SUBSCRIBE"):
            yield Due(follower, topic, event, event.t_ns + within_ms * MS, end)


def _ends(timeline: Timeline, follower: Follower, topic: str) -> Iterator[Event]:
    """Yield its SUBSCRIBEs, and what makes that none can be expected any more."""
    for session in follower.consumer.sessions:
        if base_topic(session.topic) == topic and from_client(session.request):
            yield session.request
    yield from (frame for frame in timeline.events.frames(*LOOKUPS) if is_torn(frame))
    yield from timeline.disconnections
    yield from timeline.events.of(Ended)
    yield from () if follower.closed is None else (follower.closed,)


def followed(timeline: Timeline, due: Due) -> Says:
    """Judge whether it subscribed in time."""
    follower, end = due.follower, due.end
    is_late = timeline.bounds.is_past("answer", due.due_ns, end.t_ns)
    if not is_late and isinstance(end, Frame):
        yield Exercised(end)
    if not is_late or follower.is_ambiguous(due.topic):
        return
    if timeline.bounds.is_missing("answer", due.due_ns, end.t_ns, what="a SUBSCRIBE"):
        had = "it subscribed only at" if isinstance(end, Frame) else "it had not by"
        yield breach(
            "not-followed",
            f"topic {due.topic} matches {follower.pattern}, the pattern of consumer {follower.consumer.handle}, and "
            f"existed at {ms(due.event.t_ns)}; expected the consumer to subscribe to it by {ms(due.due_ns)}; {had} "
            f"{ms(end.t_ns)}",
            *(due.event, end),
        )
