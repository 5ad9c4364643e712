"""The tracker: indexes over the events so far, kept up with each of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay_conformance.checks.foresight import Foresight
from assay_conformance.checks.lines import Lines
from assay_conformance.checks.tolerance import LoadRecord
from assay_conformance.checks.tracker.subscribers import Subscribers
from assay_conformance.checks.tracker.values import (
    Call,
    ConsumerSession,
    Entry,
    OpenedConsumer,
    Operation,
    ProducerSession,
)
from assay_conformance.model.event import (
    FORGED,
    AgentEnded,
    Began,
    Closed,
    Completion,
    Ended,
    Event,
    Fate,
    Frame,
    Identity,
    Invoke,
    Opened,
    Outcome,
    Overdue,
    Received,
    Sides,
    Stored,
)
from assay_conformance.model.fault import Direction
from assay_conformance.model.topic_names import base_topic, named_topics, renamed

_DUPLICATED, _OK, _SENDER, _BOTH = Fate.DUPLICATED, Outcome.OK, Sides.SENDER, Sides.BOTH

DEFAULT_SUBSCRIPTION = "s"
"""The subscription of an open_consumer step that names none."""


@dataclass(slots=True)
class Tracker:
    """Indexes over the events so far. Topics are local names, `-partition-N` kept."""

    began: Began | None = None
    end_ns: int = 0
    """When the attempt ended; 0 before that."""
    operations: dict[int, Operation] = field(default_factory=dict)
    sends: dict[int, list[Operation]] = field(default_factory=dict)
    """Producer handle -> its send operations in call order."""
    received: dict[int, list[Received]] = field(default_factory=dict)
    """Consumer handle -> deliveries in order."""
    entries: dict[int, Entry] = field(default_factory=dict)
    """Number (`seq`) of a Received event -> the entry it came from, where its topic is certain, and what was sent to
    that consumer on it."""
    calls: dict[int, tuple[Call, ...]] = field(default_factory=dict)
    """Ack or nack operation -> the messages of its own consumer that it names, in call order."""
    stored: dict[str, list[Stored]] = field(default_factory=dict)
    """Local topic -> entries in order of storage."""
    stored_at: dict[tuple[str, int, int], Stored] = field(default_factory=dict)
    """The same by `Entry`; of two that were named, the first."""
    producers: dict[tuple[int, int], ProducerSession] = field(default_factory=dict)
    producer_sessions: list[ProducerSession] = field(default_factory=list)
    """All of them, in order."""
    completed_again: list[tuple[Operation, Completion]] = field(default_factory=list)
    """Operations that had ended, and how they ended once more."""
    opened: dict[int, Opened] = field(default_factory=dict)
    closed: dict[int, Closed] = field(default_factory=dict)
    foresight: Foresight = field(default_factory=Foresight)
    """Of the whole attempt, whatever the event just seen."""
    lines: Lines = field(init=False)
    """Producers over all their connections."""
    subscribers: Subscribers = field(default_factory=Subscribers)
    consumers: dict[tuple[int, int], ConsumerSession] = field(init=False)
    consumer_sessions: list[ConsumerSession] = field(init=False)
    """All of them, in order."""
    opened_consumers: dict[int, OpenedConsumer] = field(init=False)
    """Consumer handle -> what it was opened as."""
    history: Sequence[Event] = ()
    """Every event of the attempt, whatever the one just seen."""
    _astray: dict[int, dict[int, ProducerSession]] = field(default_factory=dict)
    """Connection -> number of a SEND that was written there and has not reached the broker yet -> whose it is."""
    _requests: dict[tuple[int, int], ProducerSession | ConsumerSession] = field(default_factory=dict)
    _local: dict[str, str] = field(default_factory=dict)
    _frame_seen: Frame | None = None
    """The last frame, and whose it is."""
    _its_producer: ProducerSession | None = None
    _its_consumer: ConsumerSession | None = None

    def __post_init__(self) -> None:
        self.lines = Lines(self.foresight)
        self.consumers = self.subscribers.sessions
        self.consumer_sessions = self.subscribers.all
        self.opened_consumers = self.subscribers.opened

    @property
    def load(self) -> LoadRecord:
        """All samples of the attempt."""
        return self.foresight.load

    def release(self) -> None:
        """Release all references. What refers to each other, and all that hangs on it, would stay until a collection of
        garbage, which has to walk through every event for that."""
        self.lines.release()
        self.subscribers.release()

    def see(self, event: Event) -> None:
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def producer_of(self, frame: Frame) -> ProducerSession | None:
        """Return the producer to which a frame with a producer_id belongs, on its connection."""
        if frame is self._frame_seen:
            return self._its_producer
        return None if frame.producer_id is None else self.producers.get((frame.conn, frame.producer_id))

    def consumer_of(self, frame: Frame) -> ConsumerSession | None:
        if frame is self._frame_seen:
            return self._its_consumer
        return None if frame.consumer_id is None else self.consumers.get((frame.conn, frame.consumer_id))

    def delivery(self, handle: int, ordinal: int) -> Received | None:
        """Return the `ordinal`-th message (from 1) that consumer `handle` handed to the application."""
        received = self.received.get(handle, [])
        # What an agent says may have gaps.
        place = bisect_left(received, ordinal, key=lambda message: message.delivery)
        return received[place] if place < len(received) and received[place].delivery == ordinal else None

    def local_topic(self, full: str) -> str:
        """Return the topology's name of a full topic name, with the partition suffix; a foreign name is unchanged."""
        return renamed(full, self._local)

    def own(self, identity: Identity | None) -> Identity | None:
        """Return the identity; None for that of another Case's payload."""
        return identity if identity is not None and identity.case == self.lines.case_number else None

    def send_of(self, handle: int, number: int) -> Operation | None:
        """Return the send operation of message `number` of producer `handle`; None for one of a burst."""
        sends = self.sends.get(handle, [])
        if number < len(sends) and sends[number].invoke.number == number:
            return sends[number]
        place = bisect_left(sends, number, key=lambda send: send.invoke.number or 0)
        return sends[place] if place < len(sends) and sends[place].invoke.number == number else None

    # --- one method an event type ---

    def _began(self, event: Began) -> None:
        self.began = event
        self.lines.case_number = event.number
        self._local = event.local_names

    def _ended(self, event: Ended) -> None:
        self.end_ns = event.t_ns

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
            opened = OpenedConsumer(event.handle, event, self._topics(event.args), subscription)
            self.subscribers.asked_for(opened)
        elif event.verb == "seek" and event.handle in self.opened_consumers:
            self._seek(self.opened_consumers[event.handle], event)
        elif event.verb == "pause" and event.handle in self.opened_consumers:
            consumer = self.opened_consumers[event.handle]
            consumer.paused = consumer.paused or event
        elif event.verb == "close":
            for consumer in self.subscribers.closed_by(event):
                consumer.closing = consumer.closing or event

    def _seek(self, consumer: OpenedConsumer, event: Invoke) -> None:
        consumer.last_seek = event
        if "message_id" in event.args:
            ledger, entry = event.args["message_id"][:2]
            consumer.sought.add((ledger, entry))

    def _topics(self, args: dict[str, Any]) -> tuple[str, ...]:
        """Return the topics that an open_consumer names; the topology's first one when it names none."""
        first = next(iter(self._local.values()), "")
        return tuple(self.local_topic(str(name)) for name in named_topics(args, first))

    def _completion(self, event: Completion) -> None:
        if (operation := self.operations.get(event.op)) is not None and operation.completion is not None:
            self.completed_again.append((operation, event))
        elif operation is not None:
            operation.completion = event
            if event.verb == "send":
                if event.outcome is not _OK and event.handle is not None:
                    self.lines.failed(event.handle, operation.invoke.number or 0)
                return
            if event.verb == "close":
                for consumer in self.subscribers.closed_by(operation.invoke):
                    consumer.closed = consumer.closed or event

    def _overdue(self, event: Overdue) -> None:
        if (operation := self.operations.get(event.op)) is not None:
            operation.overdue = event

    def _agent_ended(self, event: AgentEnded) -> None:
        if not event.killed:
            return
        self.lines.killed(event)
        self.subscribers.killed(event)

    def _calls(self, operation: Operation) -> Iterator[Call]:
        invoke = operation.invoke
        consumer = None if invoke.handle is None else self.opened_consumers.get(invoke.handle)
        if consumer is None or "of" in invoke.args:
            return
        cumulative = bool(invoke.args.get("cumulative"))
        for ordinal in invoke.args.get("messages", ()):
            message = self.delivery(consumer.handle, ordinal)
            entry = None if message is None else self.entries.get(message.seq)
            if message is not None and entry is not None:
                yield Call(operation, invoke, consumer, message, entry, cumulative)

    def _received(self, event: Received) -> None:
        self.received.setdefault(event.handle, []).append(event)
        consumer = self.opened_consumers.get(event.handle)
        if consumer is None:
            return
        if event.topic is not None:
            base = base_topic(self.local_topic(event.topic))
        elif len(consumer.topics) == 1:
            base = consumer.topics[0]
        else:
            return
        id = event.message_id
        topic = self.subscribers.part_of(base, id.partition)
        if topic not in consumer.unsure:
            self.entries[event.seq] = Entry(topic, id.ledger, id.entry)

    def _stored(self, event: Stored) -> None:
        self.stored.setdefault(event.topic, []).append(event)
        self.stored_at.setdefault((event.topic, event.id.ledger, event.id.entry), event)
        self.lines.appended(event)

    def _opened(self, event: Opened) -> None:
        self.opened[event.conn] = event

    def _closed(self, event: Closed) -> None:
        self.closed.setdefault(event.conn, event)
        for session in self.subscribers.on(event.conn):
            session.ended = session.ended or event

    def _frame(self, event: Frame) -> None:
        if self._astray and event.to_receiver and event.dir is Direction.TO_BROKER:
            self._arrived(event)
        handler = _FRAMES.get(event.command)
        if handler is not None:
            handler(self, event)
        # Most checks that get a frame ask whose it is.
        producer, consumer = event.producer_id, event.consumer_id
        self._its_producer = None if producer is None else self.producers.get((event.conn, producer))
        self._its_consumer = None if consumer is None else self.consumers.get((event.conn, consumer))
        self._frame_seen = event

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
        self.producer_sessions.append(session)
        self.lines.registered(session)
        self._remember(event, session)

    def _arrived(self, event: Frame) -> None:
        """Note what the broker got on a connection: everything written before it went by, or was lost."""
        astray = self._astray.get(event.conn)
        if astray:
            astray.pop(event.frame, None)
            for number in [number for number in astray if number < event.frame]:
                self.lines.torn(astray.pop(number), event)

    def _producer_closed(self, event: Frame) -> None:
        session = self.producer_of(event)
        if session is not None and event.dir is Direction.TO_CLIENT and event.to_receiver:
            session.sent_away = session.sent_away or event

    def _send(self, event: Frame) -> None:
        session = self.producer_of(event)
        if event.fate in FORGED:
            self.lines.forged(session, event)
        elif event.fate is _DUPLICATED and session is not None:
            self.lines.torn(session, event)
        elif event.sides is _SENDER and session is not None:
            self._astray.setdefault(event.conn, {})[event.frame] = session
        if event.from_sender:
            self.lines.sent(session, event)

    def _send_answer(self, event: Frame) -> None:
        if event.fate in FORGED:
            session = self.producer_of(event)
            self.lines.forged_answers.setdefault(None if session is None else session.line, event)
        if event.to_receiver:
            self.lines.answered(self.producer_of(event), event)
            if event.fate is _DUPLICATED:
                self.lines.receipted_twice(event)

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
        self.subscribers.came(session)
        self._remember(event, session)

    def _consumer_ended(self, event: Frame) -> None:
        if event.consumer_id is not None and event.from_sender:
            for session in self.subscribers.ends(event.conn, event.consumer_id):
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
        is_producer = isinstance(session, ProducerSession)
        if session is None or is_producer != (event.command == "PRODUCER_SUCCESS"):
            return
        if isinstance(session, ProducerSession):
            self.lines.admitted(session, event.fields.get("producer_name", session.name))
        if event.fields.get("producer_ready") is not False:
            session.ready = event
            session.admitted = session.admitted or event


_HANDLERS: dict[type, Callable[[Tracker, Any], None]] = {
    Began: Tracker._began,
    Ended: Tracker._ended,
    Invoke: Tracker._invoke,
    Completion: Tracker._completion,
    Overdue: Tracker._overdue,
    AgentEnded: Tracker._agent_ended,
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
