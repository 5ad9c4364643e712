"""The client as one machine: what the application asks for and what the network brings go in, the sink gets the rest.

It reads no clock and opens no socket. Every input carries the time; `next_deadline_ns` says when `advance` is wanted
next. Operations are numbered by the caller and end exactly once each, through `ClientSink.completed`. Calls that name a
producer or consumer still being opened wait for it, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from assay_conformance.client.all_of import AllOf
from assay_conformance.client.connection import Connection
from assay_conformance.client.hooks import NO_HOOKS, Hooks
from assay_conformance.client.letters import retry_topic
from assay_conformance.client.lookup import Lookup, Pool
from assay_conformance.client.publisher import Publisher
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.settings import ClientSettings, ConsumerSettings, ProducerSettings
from assay_conformance.client.shared import Shared
from assay_conformance.client.subscription import StateListener, Subscription
from assay_conformance.client.table_view import SETTINGS, TableView, Updated
from assay_conformance.client.topic_patterns import TopicPattern
from assay_conformance.client.validation import Validation
from assay_conformance.client.values import ClientSink, Done, Failed, Outgoing, Result
from assay_conformance.model.event import ErrorClass, MessageId
from assay_conformance.model.overrides import HONEST, Overrides
from assay_conformance.model.payload import digest

T = TypeVar("T", Publisher, Subscription, TableView)

_NO_HANDLE = Failed(ErrorClass.CLOSED, "no such producer or consumer is open", certain=True)

# Whose letter topic would it be?
_NO_LETTERS = Failed(ErrorClass.INVALID_CONFIG, "a pattern of topics has no letter topics", certain=True)

_SHUT_DOWN = Failed(ErrorClass.CLOSED, "the client was closed", certain=True)


class _Slot:
    """One handle: what it holds once that is known, the call that opens it, and the calls that wait for it."""

    def __init__(
        self,
        op: int,
        *,
        listens: bool = False,
        states: StateListener | None = None,
        start: MessageId | None = None,
    ) -> None:
        self.op = op
        self.listens = listens
        self.states = states
        self.start = start
        self.updated: Updated | None = None
        self.held: Publisher | Subscription | None = None
        self.abandoned = False
        self.waiting: list[Callable[[], None]] = []


class ClientCore:
    """One client of one service URL. `jitter` gives numbers from 0 to below 1; `unix_ms` is the wall clock at 0 ns."""

    def __init__(
        self,
        sink: ClientSink,
        service_url: str,
        settings: ClientSettings,
        *,
        unix_ms: int,
        jitter: Callable[[], float],
        overrides: Overrides = HONEST,
    ) -> None:
        self._shared = overrides.of(Shared)(sink, settings, unix_ms=unix_ms, jitter=jitter, overrides=overrides)
        self._validation = overrides.of(Validation)()
        self._pool = overrides.of(Pool)(self._shared)
        self._lookup = overrides.of(Lookup)(self._shared, self._pool, service_url)
        self._slots: dict[int, _Slot] = {}

    # --- time ---

    def next_deadline_ns(self) -> int | None:
        return self._shared.timers.next_ns()

    def advance(self, now_ns: int) -> None:
        self._shared.now_ns = now_ns
        self._shared.timers.fire(now_ns)

    # --- network ---

    def opened(self, conn: int, now_ns: int) -> None:
        self._connection(conn, now_ns, lambda connection: connection.opened())

    def received(self, conn: int, data: bytes, now_ns: int) -> None:
        self._connection(conn, now_ns, lambda connection: connection.received(data))

    def closed(self, conn: int, now_ns: int) -> None:
        """Note that a connection ended or could not be opened."""
        self._connection(conn, now_ns, lambda connection: connection.closed())

    def _connection(self, conn: int, now_ns: int, act: Callable[[Connection], None]) -> None:
        self._shared.now_ns = now_ns
        connection = self._pool.numbered(conn)
        if connection is not None:
            act(connection)

    # --- application ---

    def open_producer(
        self, op: int, handle: int, topic: str, settings: ProducerSettings, now_ns: int, hooks: Hooks = NO_HOOKS
    ) -> None:
        """Open a producer; the operation ends with its name and the last sequence id that the broker knows of it."""
        self._shared.now_ns = now_ns
        if (failed := self._validation.producer(settings)) is not None:
            self._shared.sink.completed(op, failed)
            return
        slot = self._slots[handle] = _Slot(op)

        def counted(partitions: int | Refusal) -> None:
            if slot.abandoned:
                return
            if isinstance(partitions, Refusal):
                self._abandon(handle, slot, partitions.failed(certain=True))
                return
            publisher = self._shared.implementation(Publisher)(
                self._shared, self._pool, self._lookup, topic, settings, partitions, self._completing(op), hooks
            )
            self._fill(slot, publisher)
            publisher.start()

        self._lookup.partitions(topic, counted)

    def send(self, op: int, producer: int, message: Outgoing, now_ns: int, *, sync: bool = False) -> None:
        """Send a message. `sync`: the caller waits for the receipt first, so nothing is gained by batching it."""
        self._on(Publisher, op, producer, now_ns, lambda publisher: publisher.send(op, message, sync=sync))

    def callback_began(self, op: int) -> None:
        """Note that the application's callback of a finished send runs, until `callback_returned`."""
        self._shared.callbacks.began(op)

    def callback_returned(self, op: int, now_ns: int) -> None:
        self._shared.now_ns = now_ns
        self._shared.callbacks.returned(op)

    def flush(self, op: int, producer: int, now_ns: int) -> None:
        self._on(Publisher, op, producer, now_ns, lambda publisher: publisher.flush(self._completing(op)))

    def open_consumer(
        self,
        op: int,
        handle: int,
        topics: Sequence[str],
        subscription: str,
        settings: ConsumerSettings,
        now_ns: int,
        *,
        pattern: str = "",
        listener: bool = False,
        states: StateListener | None = None,
        start: MessageId | None = None,
    ) -> None:
        """Open a consumer of these topics, or of those that match `pattern`.

        The operation ends when every topic and partition is subscribed; with a pattern, all topics that match it now.
        `listener`: each delivery is a call of a handler, whose end `handler_returned` reports. `states` is called with
        each change of the active consumer. `start`: the message after which a reader begins.
        """
        self._shared.now_ns = now_ns
        if (failed := self._validation.consumer(settings)) is not None:
            self._shared.sink.completed(op, failed)
            return
        slot = self._slots[handle] = _Slot(op, listens=listener, states=states, start=start)
        if settings.retry_letters and topics:
            topics = [*topics, retry_topic(settings, topics[0], subscription)]
        if pattern:
            self._open_pattern(op, handle, slot, pattern, subscription, settings)
        else:
            self._open_topics(op, handle, slot, topics, subscription, settings)

    def _open_pattern(
        self, op: int, handle: int, slot: _Slot, pattern: str, subscription: str, settings: ConsumerSettings
    ) -> None:
        if settings.max_redeliver_count or settings.retry_letters:
            self._shared.sink.completed(op, _NO_LETTERS)
            return
        made = self._shared.implementation(TopicPattern)
        matches = made(self._shared, self._lookup, pattern, settings.pattern_update_ms)

        def completed(names: Sequence[str] | Refusal) -> None:
            if slot.abandoned:
                return
            if isinstance(names, Refusal):
                self._abandon(handle, slot, names.failed(certain=True))
            else:
                self._open_topics(op, handle, slot, names, subscription, settings, matches)

        matches.look(completed)

    def _open_topics(
        self,
        op: int,
        handle: int,
        slot: _Slot,
        topics: Sequence[str],
        subscription: str,
        settings: ConsumerSettings,
        matches: TopicPattern | None = None,
        kind: type[Subscription] = Subscription,
    ) -> None:
        found: dict[str, int] = {}

        def subscribe() -> None:
            counts = {topic: found[topic] for topic in topics}
            held = self._shared.implementation(kind)(
                self._shared, self._pool, self._lookup, handle, counts, subscription, settings, self._completing(op)
            )
            if slot.listens:
                held.listen()
            if slot.states is not None:
                held.report_states(slot.states)
            if slot.updated is not None and isinstance(held, TableView):
                held.listen_to_values(slot.updated)
            if slot.start is not None:
                held.begin_at(slot.start)
            self._fill(slot, held)
            held.start(matches)

        def count(topic: str) -> None:
            def counted(partitions: int | Refusal) -> None:
                if slot.abandoned:
                    return
                if isinstance(partitions, Refusal):
                    self._abandon(handle, slot, partitions.failed(certain=True))
                    return
                found[topic] = partitions
                if len(found) == len(set(topics)):
                    subscribe()

            self._lookup.partitions(topic, counted)

        if not topics:
            subscribe()
        for topic in dict.fromkeys(topics):
            count(topic)

    def open_table_view(
        self, op: int, handle: int, topic: str, subscription: str, now_ns: int, updated: Updated | None = None
    ) -> None:
        """Open a table view; the operation ends when it has read the topic. `updated` is called with each value."""
        self._shared.now_ns = now_ns
        slot = self._slots[handle] = _Slot(op)
        slot.updated = updated
        self._open_topics(op, handle, slot, [topic], subscription, SETTINGS, kind=TableView)

    def read_table_view(self, op: int, view: int, now_ns: int) -> None:
        """Read a table view; ends with `values = {entries}`: by key, the size and the digest of the value."""
        self._on(TableView, op, view, now_ns, lambda held: self._shared.sink.completed(op, _entries(held)))

    def receive(self, op: int, consumer: int, count: int, timeout_ms: int, now_ns: int) -> None:
        """Hand over up to `count` messages; the operation ends with the count, `timeout_ms` later at most."""
        self._on(Subscription, op, consumer, now_ns, lambda held: held.receive(op, count, timeout_ms))

    def batch_receive(self, op: int, consumer: int, now_ns: int) -> None:
        """Hand over one batch; the operation ends with its count."""
        self._on(Subscription, op, consumer, now_ns, lambda held: held.batch_receive(op))

    def handler_returned(self, consumer: int, now_ns: int, *, raised: bool = False) -> None:
        """Note that a handler call of this consumer returned, or raised an exception."""
        self._shared.now_ns = now_ns
        slot = self._slots.get(consumer)
        if slot is not None and isinstance(slot.held, Subscription):
            slot.held.handler_returned(raised=raised)

    def ack(
        self,
        op: int,
        consumer: int,
        numbers: Sequence[int],
        now_ns: int,
        *,
        cumulative: bool = False,
        of: int | None = None,
    ) -> None:
        """Acknowledge deliveries of the consumer, or of another one, `of`."""

        def ack_of(owner: Subscription) -> None:
            self._on(
                Subscription, op, consumer, now_ns, lambda held: held.ack(op, numbers, cumulative=cumulative, of=owner)
            )

        self._on(Subscription, op, consumer if of is None else of, now_ns, ack_of)

    def nack(self, op: int, consumer: int, numbers: Sequence[int], now_ns: int) -> None:
        self._on(Subscription, op, consumer, now_ns, lambda held: held.nack(op, numbers))

    def redeliver_all(self, op: int, consumer: int, now_ns: int) -> None:
        """Have every message that is not acknowledged delivered again."""
        self._on(Subscription, op, consumer, now_ns, lambda held: held.redeliver_all(op))

    def value(self, op: int, consumer: int, numbers: Sequence[int], now_ns: int) -> None:
        """Read the values of these deliveries."""
        self._on(Subscription, op, consumer, now_ns, lambda held: held.value(op, numbers))

    def reconsume_later(self, op: int, consumer: int, numbers: Sequence[int], delay_ms: int, now_ns: int) -> None:
        """Have these come again later, by way of the retry letter topic."""
        self._on(Subscription, op, consumer, now_ns, lambda held: held.reconsume_later(op, numbers, delay_ms))

    def seek(
        self,
        op: int,
        consumer: int,
        now_ns: int,
        *,
        message_id: MessageId | None = None,
        publish_time_ms: int | None = None,
    ) -> None:
        """Move a consumer to this place; the operation ends when it is subscribed again there."""
        self._on(Subscription, op, consumer, now_ns, lambda held: held.seek(op, message_id, publish_time_ms))

    def has_message_available(self, op: int, consumer: int, now_ns: int) -> None:
        """Ask whether a message is after the last one delivered; the operation ends with `values = {available}`."""
        self._on(Subscription, op, consumer, now_ns, lambda held: held.has_message_available(op))

    def last_message_id(self, op: int, consumer: int, now_ns: int) -> None:
        """Ask for the last message of a consumer's topic; the operation ends with its id."""
        self._on(Subscription, op, consumer, now_ns, lambda held: held.last_message_id(op))

    def pause(self, op: int, consumer: int, now_ns: int) -> None:
        """Ask the broker for no more messages until `resume`."""
        self._on(Subscription, op, consumer, now_ns, lambda held: held.pause(op))

    def resume(self, op: int, consumer: int, now_ns: int) -> None:
        self._on(Subscription, op, consumer, now_ns, lambda held: held.resume(op))

    def unsubscribe(self, op: int, consumer: int, now_ns: int) -> None:
        self._on(Subscription, op, consumer, now_ns, lambda held: held.unsubscribe(self._completing(op)))

    def stats(self, op: int, handle: int, now_ns: int) -> None:
        """Report statistics: of a producer the highest sequence id that has a receipt, -1 before the first."""

        def completed(held: Publisher | Subscription) -> None:
            last = held.last_sequence_id if isinstance(held, Publisher) else None
            self._shared.sink.completed(op, Done(last_sequence_id=last))

        self._any(op, handle, now_ns, completed)

    def close(self, op: int, handle: int, now_ns: int) -> None:
        """Close a producer or consumer; ends when the broker has answered, or cannot."""
        self._any(op, handle, now_ns, lambda held: held.close(self._completing(op)))

    def shut_down(self, op: int, now_ns: int) -> None:
        """Close everything, then the connections. What is still being opened is given up."""
        self._shared.now_ns = now_ns
        for handle, slot in [*self._slots.items()]:
            if slot.held is None:
                self._abandon(handle, slot, _SHUT_DOWN)

        def closed(result: Result) -> None:
            self._pool.close()
            self._shut(op, result)

        open_slots = [slot.held for slot in self._slots.values() if slot.held is not None]
        self._slots.clear()
        if not open_slots:
            closed(Done())
        together = AllOf(len(open_slots), closed)
        for held in open_slots:
            held.close(together.one)

    def _shut(self, op: int, result: Result) -> None:
        self._shared.sink.completed(op, result)

    # --- handles ---

    def _on(self, kind: type[T], op: int, handle: int, now_ns: int, act: Callable[[T], None]) -> None:
        def act_on(held: Publisher | Subscription) -> None:
            if isinstance(held, kind):
                act(held)
            else:
                text = f"handle {handle} is no {kind.__name__.lower()}"
                self._shared.sink.completed(op, Failed(ErrorClass.OTHER, text, certain=True))

        self._any(op, handle, now_ns, act_on)

    def _any(self, op: int, handle: int, now_ns: int, act: Callable[[Publisher | Subscription], None]) -> None:
        self._shared.now_ns = now_ns
        slot = self._slots.get(handle)
        if slot is None:
            self._shared.sink.completed(op, _NO_HANDLE)
        elif slot.held is None:
            slot.waiting.append(lambda: self._any(op, handle, self._shared.now_ns, act))
        else:
            act(slot.held)

    def _fill(self, slot: _Slot, held: Publisher | Subscription) -> None:
        slot.held = held
        waiting, slot.waiting = slot.waiting, []
        for act in waiting:
            act()

    def _abandon(self, handle: int, slot: _Slot, end: Failed) -> None:
        slot.abandoned = True
        self._slots.pop(handle, None)
        self._shared.sink.completed(slot.op, end)
        for act in slot.waiting:
            act()

    def _completing(self, op: int) -> Callable[[Result], None]:
        return lambda result: self._shared.sink.completed(op, result)


def _entries(view: TableView) -> Done:
    return Done(values={"entries": {key: [len(value), digest(value)] for key, value in view.values.items()}})
