"""What a timeline says of consumers: sessions, permits, deliveries and subscriptions, each derived when first asked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from assay_conformance.checks.base import View
from assay_conformance.checks.consumption import number_in_force
from assay_conformance.checks.tracker import Call
from assay_conformance.history.events import Events, grouped
from assay_conformance.judging.patterns import Bounds
from assay_conformance.judging.tolerance import MS
from assay_conformance.model.case import Topology
from assay_conformance.model.event import (
    Closed,
    Completion,
    Ended,
    Event,
    Fired,
    Frame,
    Invoke,
    Outcome,
    Overdue,
    Received,
    Stepped,
    Stored,
)
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline.calls import CallsAbout
from assay_conformance.pulsar.timeline.consumers import Consumer, ConsumerSession, ConsumerSessions, Entry, known_owner
from assay_conformance.pulsar.timeline.courses import Moment, ReceiveEnded, course
from assay_conformance.pulsar.timeline.deliveries import Deliveries, Delivery
from assay_conformance.pulsar.timeline.handlers import (
    HandlerCall,
    called_ns,
    client_of,
    done_ns,
    handler_calls,
    listens,
    occupied,
)
from assay_conformance.pulsar.timeline.loading import reloads
from assay_conformance.pulsar.timeline.pauses import Pause, asks_since, pauses
from assay_conformance.pulsar.timeline.permits import PermitAccount, account_of, broker_account, client_account
from assay_conformance.pulsar.timeline.serving import subscriptions
from assay_conformance.pulsar.timeline.subscriptions import Subscription, shrinking_topics
from assay_conformance.pulsar.timeline.table_views import TableView, table_views

_UNREAD: Final = "a broker that limits publishing may have read late what else came over the producer's connection"


class Consuming:
    """The consumers' part of a timeline, and what every part needs."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._tracker = view.tracker
        self._reloads: dict[str, list[Stepped | Fired]] = {}
        self._courses: dict[int, list[Moment]] = {}
        self._by_entry: dict[int, CallsAbout] = {}

    @property
    def topology(self) -> Topology:
        """What the Case says of topics and of the broker."""
        return self.view.case.topology

    def operation_timeout_ns(self, handle: int | None = None, *, otherwise_ms: int = 0) -> int:
        """Return how long the client of a handle lets an operation take, `otherwise_ms` where that is not known."""
        limit_ms = self.view.client_setting(handle, "operation_timeout_ms")
        return (limit_ms if isinstance(limit_ms, int) else otherwise_ms) * MS

    @cached_property
    def bounds(self) -> Bounds:
        """Time bounds, with the load of the machine."""
        unread = _UNREAD if self.view.shares_slow_connection() else ""
        return Bounds(self._tracker.load, self._tracker.end_ns, unread)

    @cached_property
    def events(self) -> Events:
        """The history by types, commands and verbs."""
        return Events(self._tracker.history)

    @property
    def ended(self) -> Event:
        """The end of the Case, or the last event where it has none."""
        return next(iter(self.events.of(Ended)), self._tracker.history[-1])

    def closed(self, number: int) -> Closed | None:
        """Return how a connection ended."""
        return self._tracker.closed.get(number)

    @cached_property
    def consumer_sessions(self) -> ConsumerSessions:
        """Every consumer on every connection."""
        return ConsumerSessions(self.events, self._tracker.consumer_sessions)

    @property
    def consumers(self) -> Iterable[Consumer]:
        """Every consumer that the application asked for, in order."""
        return self._tracker.opened_consumers.values()

    def consumer(self, handle: int | None) -> Consumer | None:
        """Return the consumer that the application knows by a handle."""
        return self._tracker.opened_consumers.get(-1 if handle is None else handle)

    def consumer_of(self, frame: Frame) -> Consumer | None:
        """Return the consumer that a frame is about; None where that is not known."""
        session = self.consumer_sessions.of(frame)
        return None if session is None else known_owner(session, frame)

    def frames_of(self, consumer: Consumer, *commands: str) -> Iterator[tuple[ConsumerSession, Frame]]:
        """Yield the frames of these commands that are about a consumer, each with its session; session by session."""
        for session in consumer.sessions:
            for frame in self.consumer_sessions.frames(session, *commands):
                if known_owner(session, frame) is consumer:
                    yield session, frame

    def session_at(self, consumer: Consumer, topic: str, event: Event) -> ConsumerSession | None:
        """Return its latest session on a topic at an event, where that had not ended."""
        last = consumer.last_on(topic, event)
        return last if last is not None and (last.ended is None or last.ended.seq > event.seq) else None

    def is_unsure(self, consumer: Consumer, topic: str, at: Event) -> bool:
        """Return whether a session of a consumer on a topic may have been another's, since an event before."""
        sessions = consumer.on_topic.get(topic, ()) if topic in consumer.unsure else ()
        return any(known_owner(one, at) is None for one in sessions if one.request.seq < at.seq)

    def has_sought(self, consumer: Consumer, entry: Entry, before: Event) -> bool:
        """Return whether the application had asked a consumer to seek behind an entry."""
        calls = self.events.invokes_of(consumer.handle, "seek")
        named = (tuple(call.args.get("message_id", ())[:2]) for call in calls if call.seq < before.seq)
        return (entry.ledger, entry.entry) in named

    @cached_property
    def starved(self) -> list[Completion]:
        """Receives that ended well with fewer messages than were asked for, in order; of handlers those that could have
        been called."""
        found = []
        for end in self.events.completions("receive"):
            call = self.call_of(end.op)
            short = call is not None and (end.count or 0) < int(call.args.get("count", 1))
            if short and end.outcome is Outcome.OK and not self.is_occupied(end):
                found.append(end)
        return found

    def is_occupied(self, end: Completion) -> bool:
        """Return whether other handlers of the client may have had its threads while a receive waited.

        Agents report a handler call when a receive asks for it: one that runs unasked is not in the history.
        """
        consumer = self.consumer(end.handle)
        if consumer is None or not listens(consumer):
            return False
        alike = [one for one in self.consumers if listens(one) and client_of(one) == client_of(consumer)]
        if any(one is not consumer and one.invoke.seq < end.seq for one in alike):
            return True
        return occupied(self.handler_calls, consumer, called_ns(end), done_ns(end))

    @cached_property
    def handler_calls(self) -> list[HandlerCall]:
        """Every call of a message handler, in the order in which the client made them."""
        return handler_calls(self.events, self.consumers)

    @cached_property
    def pauses(self) -> list[Pause]:
        """When consumers were paused, in order."""
        return list(pauses(self.events))

    def asks_since(self, consumer: Consumer, event: Event) -> int | None:
        """Return since when a consumer was not paused, at an event; None where it may have been."""
        return asks_since(self.pauses, consumer, event)

    @cached_property
    def table_views(self) -> list[TableView]:
        """Those that opened, in order."""
        return list(table_views(self.events, self.view.case.topology.topics[0].name))

    def received(self, consumer: Consumer) -> list[Received]:
        """Return what the application got of a consumer, in order."""
        return self._tracker.received.get(consumer.handle, [])

    def delivered(self, handle: int, ordinal: int) -> Received | None:
        """Return the message that was the n-th (from 1) of a consumer, as commands name it."""
        return self._tracker.delivery(handle, ordinal)

    @property
    def all_received(self) -> Iterator[Received]:
        """What the application got, consumer by consumer."""
        return (message for consumer in self.consumers for message in self.received(consumer))

    def entry_of(self, message: Received) -> Entry | None:
        """Return the entry that a message of the application came from, where that is known."""
        return self._tracker.entries.get(message.seq)

    def redeliveries(self, message: Received) -> int | None:
        """Return how often the broker had sent a message again.

        It is as the client shows it, or else as the MESSAGE says that brought it; None where that is not known either.
        """
        if message.redelivery_count is not None:
            return message.redelivery_count
        delivery = self._deliveries.of_received.get(message.seq)
        return None if delivery is None else delivery.frame.redelivery_count or 0

    @cached_property
    def accounts(self) -> list[PermitAccount]:
        """The permits of every admitted session whose queue size is known, as clients keep them."""
        found = (account_of(self.view, self.consumer_sessions, one) for one in self.consumer_sessions.all)
        return [account for account in found if account is not None]

    @cached_property
    def client_accounts(self) -> list[PermitAccount]:
        """The permits of every session as clients keep them, whatever its queue."""
        return [client_account(self.consumer_sessions, one) for one in self.consumer_sessions.all]

    @cached_property
    def broker_accounts(self) -> list[PermitAccount]:
        """The permits of every session as brokers keep them."""
        return [broker_account(self.consumer_sessions, one) for one in self.consumer_sessions.all]

    def broker_account(self, session: ConsumerSession) -> PermitAccount:
        """Return the account of a session, as its broker keeps it."""
        return self._broker_accounts[id(session)]

    @cached_property
    def _broker_accounts(self) -> dict[int, PermitAccount]:
        return {id(account.session): account for account in self.broker_accounts}

    def account(self, session: ConsumerSession | None) -> PermitAccount | None:
        """Return the account of a session; None where there is none in `accounts`."""
        return self._accounts.get(id(session))

    @cached_property
    def _accounts(self) -> dict[int, PermitAccount]:
        return {id(account.session): account for account in self.accounts}

    @cached_property
    def _deliveries(self) -> Deliveries:
        return Deliveries(self.events, self.consumer_sessions, self._tracker)

    @property
    def deliveries(self) -> list[Delivery]:
        """Every MESSAGE, in order."""
        _ = self.subscriptions
        return self._deliveries.all

    def copies(self, consumer: Consumer, entry: Entry) -> list[Delivery]:
        """Return every time that an entry was sent to a consumer, in order."""
        _ = self.subscriptions
        return self._deliveries.copies(consumer, entry)

    @cached_property
    def subscriptions(self) -> list[Subscription]:
        """Every subscription on every topic, in order."""
        return subscriptions(self.view, self.events, self.consumer_sessions, self._deliveries)

    def stored_on(self, topic: str) -> Sequence[Stored]:
        """Return what a topic or partition stored, in order."""
        return self._tracker.stored.get(topic, ())

    @cached_property
    def shrinking(self) -> frozenset[object]:
        """Topics whose backlog may shrink without an acknowledgement."""
        return shrinking_topics(self.view.case)

    @cached_property
    def steady_subscriptions(self) -> list[Subscription]:
        """Those of all other topics, whose consumers have to be sent what was not acknowledged."""
        return [one for one in self.subscriptions if base_topic(one.topic) not in self.shrinking]

    def reloads(self, topic: str) -> list[Stepped | Fired]:
        """Return what made a broker load a topic again, in order."""
        name = base_topic(topic)
        if name not in self._reloads:
            self._reloads[name] = reloads(self.view.case, self.events, name)
        return self._reloads[name]

    @cached_property
    def _calls(self) -> dict[int, list[Call]]:
        found: dict[int, list[Call]] = {}
        for calls in self._tracker.calls.values():
            for call in calls:
                found.setdefault(call.consumer.handle, []).append(call)
        return found

    def calls(self, consumer: Consumer) -> list[Call]:
        """Return every message of every ack and nack that the application asked of a consumer, in order."""
        return self._calls.get(consumer.handle, [])

    def calls_about(self, consumer: Consumer, entry: Entry) -> list[Call]:
        """Return the calls that name a message of an entry, and cumulative ones of a later entry."""
        return self._calls_about(consumer).of(entry)

    def is_ack_asked(self, consumer: Consumer, entry: Entry, before: Event) -> bool:
        """Return whether the application had asked to acknowledge a message of an entry, or all up to a later one.

        A client may drop the entry if it comes afterwards.
        """
        return self._calls_about(consumer).acknowledge(entry, before)

    def _calls_about(self, consumer: Consumer) -> CallsAbout:
        found = self._by_entry.get(consumer.handle)
        if found is None:
            found = self._by_entry[consumer.handle] = CallsAbout(self.calls(consumer))
        return found

    def course(self, consumer: Consumer, after: Event | None = None) -> Sequence[Moment]:
        """Return what happened to the messages of a consumer, in order; all of it, or after an event."""
        found = self._courses.get(consumer.handle)
        if found is None:
            found = self._courses[consumer.handle] = course(
                self._tracker,
                self.consumer_sessions,
                consumer,
                self.calls(consumer),
                self._receives.get(consumer.handle, ()),
                self._sent_rounds.get(consumer.handle, ()),
            )
        return found if after is None else found[bisect_right(found, after.seq, key=lambda one: one.event.seq) :]

    @cached_property
    def _receives(self) -> dict[int | None, list[ReceiveEnded]]:
        short = {end.seq for end in self.starved}
        ended = (ReceiveEnded(end, end.seq in short) for end in self.events.completions("receive"))
        return grouped(ended, lambda one: one.event.handle)

    @cached_property
    def _sent_rounds(self) -> dict[int | None, list[Invoke]]:
        return grouped(self.events.invokes("reconsume_later"), lambda call: call.handle)

    def setting(self, consumer: Consumer, key: str) -> int | None:
        """Return a setting that is in force for a consumer."""
        return number_in_force(self.view, consumer, key)

    @cached_property
    def nacking(self) -> list[Consumer]:
        """Consumers on which the application nacked a message."""
        opened = self.consumers if self.events.invokes("nack") else ()
        return [one for one in opened if any(call.invoke.verb == "nack" for call in self.calls(one))]

    def closing_before(self, consumer: Consumer, event: Event) -> bool:
        """Return whether what ends a consumer had come by an event."""
        return consumer.closing is not None and consumer.closing.seq < event.seq

    def calls_of(self, one: Invoke | Completion) -> Sequence[Call]:
        """Return the messages of its own consumer that an ack or nack names."""
        return self._tracker.calls.get(one.op, ())

    def end_of(self, op: int) -> Completion | None:
        """Return how an operation ended."""
        operation = self._tracker.operations.get(op)
        return None if operation is None else operation.completion

    def end_or_overdue(self, op: int) -> Completion | Overdue | None:
        """Return how an operation ended, or else that it had not ended in its time."""
        return self.end_of(op) or next((one for one in self.events.of(Overdue) if one.op == op), None)

    def call_of(self, op: int) -> Invoke | None:
        """Return the call of an operation."""
        operation = self._tracker.operations.get(op)
        return None if operation is None else operation.invoke
