"""What the tracker holds: operations, owners of wire ids, entries and what was said of them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from assay_conformance.checks.lines import HandleEnd, Line, Unit
from assay_conformance.checks.send_queue import SendQueue, Turns
from assay_conformance.ledger.clauses import ORDERED_TYPES
from assay_conformance.model.case import ConfigValue
from assay_conformance.model.event import (
    AgentEnded,
    Closed,
    Completion,
    Event,
    Frame,
    Invoke,
    MessageId,
    Outcome,
    Overdue,
    Received,
)


@dataclass(slots=True)
class Operation:
    """One operation of the client: asked for, and how it ended as far as is known."""

    invoke: Invoke
    completion: Completion | None = None
    overdue: Overdue | None = None

    @property
    def outcome(self) -> Outcome | None:
        """None while nothing is known; an operation without completion counts as unknown at the end."""
        return self.completion.outcome if self.completion else None

    @property
    def called_ns(self) -> int | None:
        """When the client was called, by its agent's own stamp; None where that is not known."""
        return None if self.completion is None else self.completion.called_ns

    def is_pending(self, at: Event) -> bool:
        """Return whether it had not ended at an event."""
        return self.completion is None or self.completion.seq > at.seq

    def had_succeeded(self, by: Event) -> bool:
        """Return whether it had ended well by an event."""
        return self.outcome is Outcome.OK and not self.is_pending(by)


@dataclass(slots=True, eq=False)
class ProducerSession:
    """A producer on one connection, from its PRODUCER frame on. `ready` is the PRODUCER_SUCCESS that admitted it, not
    one that makes it wait for its turn."""

    conn: int
    producer_id: int
    topic: str
    request: Frame
    name: str | None = None
    ready: Frame | None = None
    line: Line | None = None
    """Whose it is, as soon as that is known."""
    sent_away: Frame | None = None
    """The broker's CLOSE_PRODUCER: what comes after it is for a producer that is no longer there."""
    waiting: Turns[int, Unit] = field(default_factory=lambda: Turns())
    """Sequence id -> units sent here that have no answer yet."""
    queue: SendQueue = field(default_factory=SendQueue)
    """The same in order: the client's queue, as far as this session shows it."""
    furthest: tuple[Unit, Frame] | None = None
    """Of the units sent here the one furthest back in the line's queue, and its SEND."""
    first_send: Frame | None = None
    admitted: Frame | None = None
    """The first PRODUCER_SUCCESS that let it in; `ready` is the last one, where a fault repeated it."""

    def was_admitted(self, by: Event) -> bool:
        """Return whether it had been admitted by an event."""
        return self.admitted is not None and self.admitted.seq < by.seq


@dataclass(slots=True, eq=False)
class ConsumerSession:
    """A consumer on one connection, from its SUBSCRIBE frame on."""

    conn: int
    consumer_id: int
    topic: str
    subscription: str
    request: Frame
    ready: Frame | None = None
    admitted: Frame | None = None
    """The first SUCCESS that was written to it; `ready` is the last one, where a fault repeated it."""
    consumer: OpenedConsumer | None = None
    """Whose it is, when only one of the Case's consumers can have written it."""
    known_until: tuple[OpenedConsumer, Frame] | None = None
    """Whose it was until another SUBSCRIBE may have taken its place."""
    ended: Closed | Frame | None = None
    """What ended it: its connection's end, CLOSE_CONSUMER from either side, or UNSUBSCRIBE."""
    all_again: Frame | None = None
    """The last request for everything unacknowledged: a client may throw away what waits in its queue with it."""
    entry_asked: tuple[MessageId, Entry] | None = None
    """The entry that was asked for last, under the id it was asked by."""
    acked: tuple[Frame, tuple[Entry, ...]] | None = None
    """The ACK that was asked about last, and the entries it settles whole."""

    def was_admitted(self, by: Event) -> bool:
        """Return whether it had been admitted by an event."""
        return self.admitted is not None and self.admitted.seq < by.seq

    def had_ended(self, by: Event) -> bool:
        """Return whether it had ended by an event."""
        return self.ended is not None and self.ended.seq < by.seq

    def is_there(self, at: Event) -> bool:
        """Return whether it was admitted at an event, and had not ended."""
        return self.was_admitted(at) and not self.had_ended(at)

    @property
    def is_ordered(self) -> bool:
        """Its subscription gives everything to one consumer, in order, and redelivers all or nothing."""
        return self.request.fields.get("subType") in ORDERED_TYPES

    @property
    def is_return(self) -> bool:
        """Its consumer had been subscribed to this topic before."""
        sessions = [] if self.consumer is None else self.consumer.on_topic.get(self.topic, [])
        earlier = takewhile(lambda session: session is not self, sessions)
        return any(session.ready is not None for session in earlier)


@dataclass(slots=True, eq=False)
class OpenedConsumer:
    """A consumer the bench asked for, by its handle. `closing` is what ends it, `closed` that it has ended."""

    handle: int
    invoke: Invoke
    topics: tuple[str, ...]
    subscription: str
    closing: HandleEnd | None = None
    closed: Completion | AgentEnded | None = None
    paused: Invoke | None = None
    """Asked to pause for the first time: from then on it grants what it likes."""
    sessions: list[ConsumerSession] = field(default_factory=list)
    """All of them, in order."""
    on_topic: dict[str, list[ConsumerSession]] = field(default_factory=dict)
    """Those of each topic."""
    last_seek: Invoke | None = None
    """What was settled before it says nothing about what comes after it."""
    sought: set[tuple[int, int]] = field(default_factory=set)
    """Positions of exclusive seeks: the broker starts with them, and the client passes them over."""
    settings: dict[str, ConfigValue | None] = field(default_factory=dict)
    """What is in force for it, as far as it was asked."""
    unsure: set[str] = field(default_factory=set)
    """Topics (partitions apart) on which a session may be its or another consumer's."""

    def add(self, session: ConsumerSession) -> None:
        self.sessions.append(session)
        self.on_topic.setdefault(session.topic, []).append(session)

    def last_on(self, topic: str, before: Event) -> ConsumerSession | None:
        """Return the last session there that had been asked for before an event."""
        sessions = self.on_topic.get(topic, [])
        place = bisect_left(sessions, before.seq, key=lambda session: session.request.seq)
        return sessions[place - 1] if place else None

    def live_on(self, topic: str) -> ConsumerSession | None:
        """Return its latest session there, when that has not ended."""
        sessions = self.on_topic.get(topic)
        return sessions[-1] if sessions and sessions[-1].ended is None else None


class Entry(NamedTuple):
    """One stored entry: its topic (a local name, the partition kept) and position. Orders in storage order."""

    topic: str
    ledger: int
    entry: int

    def __str__(self) -> str:
        return f"{self.ledger}:{self.entry}"


class Call(NamedTuple):
    """One message of an ack or nack operation. The client was called after `invoke`, and before `completion`."""

    operation: Operation
    invoke: Invoke
    consumer: OpenedConsumer
    message: Received
    entry: Entry
    cumulative: bool

    def covers(self, entry: Entry) -> bool:
        """Return whether the call is about this entry, or a cumulative one about a later entry of its topic."""
        return entry == self.entry or (self.cumulative and entry.topic == self.entry.topic and entry < self.entry)

    @property
    def members(self) -> range:
        """The places in its own entry that it is about: of its message, or, cumulative, all up to that."""
        place = max(self.message.message_id.batch_index, 0)
        return range(0 if self.cumulative else place, place + 1)

    @property
    def called_ns(self) -> int:
        """When the client had certainly been called; only once the operation has completed."""
        completion = self.operation.completion
        assert completion is not None
        alone = len(self.invoke.args.get("messages", ())) == 1
        return completion.called_ns if alone and completion.called_ns is not None else completion.t_ns
