"""What every check may ask while events go by: operations with their completions, and who is behind a wire id.

The tracker sees each event before the checks do. Producer and consumer ids are chosen by the client per connection, so
a frame's id means something only together with its connection; PRODUCER and SUBSCRIBE say what.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay_conformance.checks.foresight import Foresight
from assay_conformance.checks.lines import Line, Lines, Unit
from assay_conformance.checks.tolerance import LoadRecord
from assay_conformance.model.event import (
    Began,
    Closed,
    Completion,
    Event,
    Fate,
    Frame,
    Invoke,
    Opened,
    Outcome,
    Overdue,
    Received,
    Sides,
    Stored,
)
from assay_conformance.model.fault import Direction

_FORGED = (Fate.ALTERED, Fate.INJECTED)

DEFAULT_SUBSCRIPTION = "s"
"""The subscription of an open_consumer step that names none."""


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
    """The broker's CLOSE_PRODUCER: what comes behind it is for a producer that is no longer there."""
    waiting: dict[int, deque[Unit]] = field(default_factory=dict)
    """Sequence id -> units sent here that have no answer yet."""
    queue: deque[Unit] = field(default_factory=deque)
    """The same in order: the client's queue, as far as this session shows it."""
    furthest: tuple[Unit, Frame] | None = None
    """Of the units sent here the one furthest back in the line's queue, and its SEND."""


@dataclass(slots=True, eq=False)
class ConsumerSession:
    """A consumer on one connection, from its SUBSCRIBE frame on."""

    conn: int
    consumer_id: int
    topic: str
    subscription: str
    request: Frame
    ready: Frame | None = None
    consumer: OpenedConsumer | None = None
    """Whose it is, when only one of the Case's consumers can have written it."""
    ended: Closed | Frame | None = None
    """What ended it: its connection's end, CLOSE_CONSUMER from either side, or UNSUBSCRIBE."""
    all_again: Frame | None = None
    """The last request for everything unacknowledged: a client may throw away what waits in its queue with it."""


@dataclass(slots=True, eq=False)
class OpenedConsumer:
    """A consumer the bench asked for, by its handle. `closing` is the command that ends it or its client."""

    handle: int
    invoke: Invoke
    topics: tuple[str, ...]
    subscription: str
    closing: Invoke | None = None
    closed: Completion | None = None
    paused: Invoke | None = None
    """Asked to pause, ever: from then on it grants what it likes."""
    sessions: list[ConsumerSession] = field(default_factory=list)
    last_seek: Invoke | None = None
    """What was settled before it says nothing about what comes behind it."""
    sought: set[tuple[int, int]] = field(default_factory=set)
    """Positions it was told to seek behind: the broker starts with them, and the client passes them over."""
    unsure: set[str] = field(default_factory=set)
    """Topics (partitions apart) on which a session may be its or another consumer's."""

    def last_on(self, topic: str) -> ConsumerSession | None:
        """Its latest session there."""
        return next((session for session in reversed(self.sessions) if session.topic == topic), None)

    def live_on(self, topic: str) -> ConsumerSession | None:
        """Its latest session there, when that has not ended."""
        session = self.last_on(topic)
        return session if session is not None and session.ended is None else None


class Entry(NamedTuple):
    """One stored entry: its topic (a local name, the partition kept) and position. Orders in storage order."""

    topic: str
    ledger: int
    entry: int

    def __str__(self) -> str:
        return f"{self.ledger}:{self.entry}"


@dataclass(frozen=True, slots=True)
class Call:
    """One message of an ack or nack operation. The client was told after `invoke`, and before `completion`."""

    operation: Operation
    consumer: OpenedConsumer
    message: Received
    entry: Entry
    cumulative: bool

    @property
    def invoke(self) -> Invoke:
        return self.operation.invoke

    @property
    def called_ns(self) -> int:
        """When the client had certainly been told; only once the operation has completed."""
        completion = self.operation.completion
        assert completion is not None
        alone = len(self.invoke.args.get("messages", ())) == 1
        return completion.called_ns if alone and completion.called_ns is not None else completion.t_ns


@dataclass(slots=True)
class Tracker:
    """Indexes over the events so far. Topics are local names, `-partition-N` kept."""

    began: Began | None = None
    operations: dict[int, Operation] = field(default_factory=dict)
    sends: dict[int, list[Operation]] = field(default_factory=dict)
    """Producer handle -> its send operations in call order."""
    received: dict[int, list[Received]] = field(default_factory=dict)
    """Consumer handle -> deliveries in order."""
    entries: dict[int, Entry] = field(default_factory=dict)
    """Number (`seq`) of a Received event -> the entry it came from, where its topic is certain, and what was sent to
    that consumer on it."""
    calls: dict[int, tuple[Call, ...]] = field(default_factory=dict)
    """Ack or nack operation -> the messages it names, in call order."""
    stored: dict[str, list[Stored]] = field(default_factory=dict)
    """Local topic -> entries in order of storage."""
    producers: dict[tuple[int, int], ProducerSession] = field(default_factory=dict)
    consumers: dict[tuple[int, int], ConsumerSession] = field(default_factory=dict)
    opened_consumers: dict[int, OpenedConsumer] = field(default_factory=dict)
    """Consumer handle -> what it was opened as."""
    opened: dict[int, Opened] = field(default_factory=dict)
    closed: dict[int, Closed] = field(default_factory=dict)
    foresight: Foresight = field(default_factory=Foresight)
    """Of the whole attempt, whatever the event just seen."""
    lines: Lines = field(init=False)
    """Producers over all their connections."""
    _astray: dict[int, dict[int, ProducerSession]] = field(default_factory=dict)
    """Connection -> number of a SEND that was written there and has not reached the broker yet -> whose it is."""
    _requests: dict[tuple[int, int], ProducerSession | ConsumerSession] = field(default_factory=dict)
    _local: dict[str, str] = field(default_factory=dict)
    _partitioned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.lines = Lines(self.foresight)

    @property
    def load(self) -> LoadRecord:
        """All samples of the attempt."""
        return self.foresight.load

    def see(self, event: Event) -> None:
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def producer_of(self, frame: Frame) -> ProducerSession | None:
        """The producer a frame with a producer_id belongs to, on its connection."""
        return None if frame.producer_id is None else self.producers.get((frame.conn, frame.producer_id))

    def consumer_of(self, frame: Frame) -> ConsumerSession | None:
        return None if frame.consumer_id is None else self.consumers.get((frame.conn, frame.consumer_id))

    def delivery(self, handle: int, ordinal: int) -> Received | None:
        """The `ordinal`-th message (from 1) that consumer `handle` handed to the application."""
        received = self.received.get(handle, [])
        if 0 < ordinal <= len(received) and received[ordinal - 1].delivery == ordinal:
            return received[ordinal - 1]
        return next((message for message in received if message.delivery == ordinal), None)

    def local_topic(self, full: str) -> str:
        """The topology's name of a full topic name, its partition suffix kept; the full name when it is foreign."""
        base, mark, partition = full.partition("-partition-")
        local = self._local.get(base)
        return full if local is None else local + mark + partition

    def send_of(self, handle: int, number: int) -> Operation | None:
        """The send operation that asked for message `number` of producer `handle`; None for one of a burst."""
        sends = self.sends.get(handle, [])
        operation = sends[number] if number < len(sends) else None
        return operation if operation is not None and operation.invoke.number == number else None

    # --- one method an event type ---

    def _began(self, event: Began) -> None:
        self.began = event
        self.lines.case_number = event.number
        self._local = {full: local for local, full in event.topics.items()}

    def _invoke(self, event: Invoke) -> None:
        operation = Operation(event)
        self.operations[event.op] = operation
        self.lines.invoked(event)
        if event.verb == "send" and event.handle is not None:
            self.sends.setdefault(event.handle, []).append(operation)
        elif event.verb in ("ack", "nack"):
            self.calls[event.op] = tuple(self._calls(operation))
        elif event.verb == "open_consumer" and event.handle is not None:
            subscription = str(event.args.get("subscription", DEFAULT_SUBSCRIPTION))
            self.opened_consumers[event.handle] = OpenedConsumer(
                event.handle, event, self._topics(event.args), subscription
            )
        elif event.verb == "seek" and event.handle in self.opened_consumers:
            self._seek(self.opened_consumers[event.handle], event)
        elif event.verb == "pause" and event.handle in self.opened_consumers:
            self.opened_consumers[event.handle].paused = event
        elif event.verb == "close":
            for consumer in self._closed_by(event):
                consumer.closing = consumer.closing or event

    def _seek(self, consumer: OpenedConsumer, event: Invoke) -> None:
        consumer.last_seek = event
        if "message_id" in event.args:
            ledger, entry = event.args["message_id"][:2]
            consumer.sought.add((ledger, entry))

    def _topics(self, args: dict[str, Any]) -> tuple[str, ...]:
        """The topics an open_consumer names; the topology's first one when it names none."""
        first = next(iter(self._local.values()), "")
        named = args.get("topics") or [args.get("topic", first)]
        return tuple(self.local_topic(str(name)) for name in named)

    def _closed_by(self, close: Invoke) -> Iterator[OpenedConsumer]:
        """The consumers that a close of this handle ends: itself, or all of that client."""
        for consumer in self.opened_consumers.values():
            if close.handle in (consumer.handle, consumer.invoke.args.get("client")):
                yield consumer

    def _completion(self, event: Completion) -> None:
        if (operation := self.operations.get(event.op)) is not None and operation.completion is None:
            operation.completion = event
            if event.verb == "send":
                if event.outcome is not Outcome.OK and event.handle is not None:
                    self.lines.failed(event.handle, operation.invoke.number or 0)
                return
            if event.verb == "close":
                for consumer in self._closed_by(operation.invoke):
                    consumer.closed = consumer.closed or event

    def _overdue(self, event: Overdue) -> None:
        if (operation := self.operations.get(event.op)) is not None:
            operation.overdue = event

    def _calls(self, operation: Operation) -> Iterator[Call]:
        invoke = operation.invoke
        consumer = None if invoke.handle is None else self.opened_consumers.get(invoke.handle)
        if consumer is None:
            return
        for ordinal in invoke.args.get("messages", ()):
            message = self.delivery(consumer.handle, ordinal)
            if message is not None and message.seq in self.entries:
                cumulative = bool(invoke.args.get("cumulative"))
                yield Call(operation, consumer, message, self.entries[message.seq], cumulative)

    def _received(self, event: Received) -> None:
        self.received.setdefault(event.handle, []).append(event)
        consumer = self.opened_consumers.get(event.handle)
        if consumer is None:
            return
        if event.topic is not None:
            base = self.local_topic(event.topic).partition("-partition-")[0]
        elif len(consumer.topics) == 1:
            base = consumer.topics[0]
        else:
            return
        id = event.message_id
        topic = f"{base}-partition-{id.partition}" if base in self._partitioned else base
        if topic in consumer.unsure:
            return
        self.entries[event.seq] = Entry(topic, id.ledger, id.entry)

    def _stored(self, event: Stored) -> None:
        self.stored.setdefault(event.topic, []).append(event)
        self.lines.appended(event)

    def _opened(self, event: Opened) -> None:
        self.opened[event.conn] = event

    def _closed(self, event: Closed) -> None:
        self.closed.setdefault(event.conn, event)
        for session in self.consumers.values():
            if session.conn == event.conn:
                session.ended = session.ended or event

    def _frame(self, event: Frame) -> None:
        if self._astray and event.to_receiver and event.dir is Direction.TO_BROKER:
            self._arrived(event)
        handler = _FRAMES.get(event.command)
        if handler is not None:
            handler(self, event)

    def _producer(self, event: Frame) -> None:
        if not event.from_sender or event.producer_id is None:
            return
        session = ProducerSession(
            conn=event.conn,
            producer_id=event.producer_id,
            topic=self.local_topic(str(event.fields.get("topic", ""))),
            request=event,
            name=event.fields.get("producer_name"),
        )
        self.producers[event.conn, event.producer_id] = session
        self.lines.registered(session)
        self._remember(event, session)

    def _arrived(self, event: Frame) -> None:
        """What the broker gets on a connection shows that everything written before it went by, or was lost."""
        astray = self._astray.get(event.conn)
        if astray:
            astray.pop(event.frame, None)
            for number in [number for number in astray if number < event.frame]:
                self.lines.torn(astray.pop(number))

    def _producer_closed(self, event: Frame) -> None:
        session = self.producer_of(event)
        if session is not None and event.dir is Direction.TO_CLIENT and event.to_receiver:
            session.sent_away = session.sent_away or event

    def _send(self, event: Frame) -> None:
        session = self.producer_of(event)
        if event.fate in _FORGED:
            self.lines.forged(session, event)
        elif event.fate is Fate.DUPLICATED and session is not None:
            self.lines.torn(session)
        elif event.sides is Sides.SENDER and session is not None:
            self._astray.setdefault(event.conn, {})[event.frame] = session
        if event.from_sender:
            self.lines.sent(session, event)

    def _send_answer(self, event: Frame) -> None:
        if event.fate in _FORGED:
            self.lines.forged_receipts = True
        if event.to_receiver:
            self.lines.answered(self.producer_of(event), event)
            if event.fate is Fate.DUPLICATED:
                self.lines.receipted_twice()

    def _subscribe(self, event: Frame) -> None:
        if not event.from_sender or event.consumer_id is None:
            return
        session = ConsumerSession(
            conn=event.conn,
            consumer_id=event.consumer_id,
            topic=self.local_topic(str(event.fields.get("topic", ""))),
            subscription=str(event.fields.get("subscription", "")),
            request=event,
        )
        before = self.consumers.get((event.conn, event.consumer_id))
        self.consumers[event.conn, event.consumer_id] = session
        base, partition, _ = session.topic.partition("-partition-")
        if partition:
            self._partitioned.add(base)
        session.consumer = self._subscriber(session, before)
        if session.consumer is not None:
            session.consumer.sessions.append(session)
        self._remember(event, session)

    def _subscriber(self, session: ConsumerSession, before: ConsumerSession | None) -> OpenedConsumer | None:
        """The only open consumer that can have written this SUBSCRIBE; `before` is the session of its ids until now.

        One that has a session there goes on with it, so it asks again only for itself. Where two consumers of one
        subscription lost their sessions together, which of them comes back first is not known.
        """
        base = session.topic.partition("-partition-")[0]
        candidates = [
            consumer
            for consumer in self.opened_consumers.values()
            if consumer.closed is None and consumer.subscription == session.subscription and base in consumer.topics
        ]
        mine = before.consumer if before is not None and before.topic == session.topic else None
        if mine is not None and mine in candidates and session.topic not in mine.unsure:
            return mine
        possible = [consumer for consumer in candidates if consumer.live_on(session.topic) is None] or candidates
        if any(session.topic in consumer.unsure for consumer in possible):
            return None  # What it got there before is not known, so neither is what it holds.
        if len(possible) == 1:
            return possible[0]
        for consumer in possible:
            consumer.unsure.add(session.topic)
            if (live := consumer.live_on(session.topic)) is not None:
                live.consumer = None
        return None

    def _consumer_ended(self, event: Frame) -> None:
        session = self.consumer_of(event)
        if session is not None and event.from_sender:
            session.ended = session.ended or event

    def _redelivery_asked(self, event: Frame) -> None:
        session = self.consumer_of(event)
        if session is not None and event.from_sender and not event.ids:
            session.all_again = event

    def _remember(self, event: Frame, session: ProducerSession | ConsumerSession) -> None:
        if event.request_id is not None:
            self._requests[event.conn, event.request_id] = session

    def _answered(self, event: Frame) -> None:
        if event.request_id is None or not event.to_receiver:
            return
        session = self._requests.get((event.conn, event.request_id))
        if session is None:
            return
        if isinstance(session, ProducerSession):
            self.lines.admitted(session, event.fields.get("producer_name", session.name))
        if event.fields.get("producer_ready") is not False:
            session.ready = event


_HANDLERS: dict[type, Callable[[Tracker, Any], None]] = {
    Began: Tracker._began,
    Invoke: Tracker._invoke,
    Completion: Tracker._completion,
    Overdue: Tracker._overdue,
    Received: Tracker._received,
    Stored: Tracker._stored,
    Opened: Tracker._opened,
    Closed: Tracker._closed,
    Frame: Tracker._frame,
}

_FRAMES: dict[str, Callable[[Tracker, Frame], None]] = {
    "PRODUCER": Tracker._producer,
    "SEND": Tracker._send,
    "SEND_RECEIPT": Tracker._send_answer,
    "SEND_ERROR": Tracker._send_answer,
    "SUBSCRIBE": Tracker._subscribe,
    "CLOSE_PRODUCER": Tracker._producer_closed,
    "CLOSE_CONSUMER": Tracker._consumer_ended,
    "UNSUBSCRIBE": Tracker._consumer_ended,
    "REDELIVER_UNACKNOWLEDGED_MESSAGES": Tracker._redelivery_asked,
    "PRODUCER_SUCCESS": Tracker._answered,
    "SUCCESS": Tracker._answered,
}
