"""The timeline's relations about consumers: sessions, permits, deliveries and subscriptions, each derived when first
used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from assay_conformance.checks.base import View
from assay_conformance.checks.consumption import number_in_force
from assay_conformance.model.event import (
    Event,
    Fired,
    Frame,
    Received,
    Stepped,
    Stored,
)
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline.consumers import Consumer, ConsumerSession, ConsumerSessions, Entry, known_owner
from assay_conformance.pulsar.timeline.deliveries import Deliveries, Delivery
from assay_conformance.pulsar.timeline.loading import reloads
from assay_conformance.pulsar.timeline.occurring import Occurring
from assay_conformance.pulsar.timeline.pauses import Pause, pauses, unpaused_since_ns
from assay_conformance.pulsar.timeline.permits import PermitAccount, account_of, broker_account, client_account
from assay_conformance.pulsar.timeline.serving import subscriptions
from assay_conformance.pulsar.timeline.subscriptions import Subscription, shrinking_topics
from assay_conformance.pulsar.timeline.table_views import TableView, table_views


class Consuming(Occurring):
    """The consumers' part of a timeline."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._reloads: dict[str, list[Stepped | Fired]] = {}

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

    def sessions_at(self, consumer: Consumer, event: Event) -> dict[str, ConsumerSession | None]:
        """Return its latest session at an event on each topic that it ever subscribed to; None where that had ended."""
        return {topic: self.session_at(consumer, topic, event) for topic in consumer.on_topic}

    def is_unsure(self, consumer: Consumer, topic: str, at: Event) -> bool:
        """Return whether a session on a topic since an event may have been another consumer's."""
        sessions = consumer.on_topic.get(topic, ()) if topic in consumer.unsure else ()
        return any(known_owner(one, at) is None for one in sessions if one.request.seq < at.seq)

    @cached_property
    def pauses(self) -> list[Pause]:
        """When consumers were paused, in order."""
        return list(pauses(self.events))

    def unpaused_since_ns(self, consumer: Consumer, event: Event) -> int | None:
        """Return since when a consumer was not paused at an event; None if it may have been paused."""
        return unpaused_since_ns(self.pauses, consumer, event)

    @cached_property
    def table_views(self) -> list[TableView]:
        """Those that opened, in order."""
        return list(table_views(self.events, self.view.case.topology.topics[0].name))

    def received(self, consumer: Consumer) -> list[Received]:
        """Return the messages that the application received from a consumer, in order."""
        return self._tracker.received.get(consumer.handle, [])

    def delivered(self, handle: int, ordinal: int) -> Received | None:
        """Return the message that was the n-th (from 1) of a consumer, as commands name it."""
        return self._tracker.delivery(handle, ordinal)

    @property
    def all_received(self) -> Iterator[Received]:
        """The messages that the application received, consumer by consumer."""
        return (message for consumer in self.consumers for message in self.received(consumer))

    def entry_of(self, message: Received) -> Entry | None:
        """Return the entry that a message of the application came from, where that is known."""
        return self._tracker.entries.get(message.seq)

    def redeliveries(self, message: Received) -> int | None:
        """Return the redelivery count of a message as the client shows it, or else as its MESSAGE states it; None if
        neither is known.
        """
        if message.redelivery_count is not None:
            return message.redelivery_count
        delivery = self._deliveries.of_received.get(message.seq)
        return None if delivery is None else delivery.frame.redelivery_count or 0

    @property
    def accounts(self) -> list[PermitAccount]:
        """The permits of every admitted session whose queue size is known, as clients keep them."""
        return [*self._accounts.values()]

    def account(self, session: ConsumerSession | None) -> PermitAccount | None:
        """Return the account of a session; None where there is none in `accounts`."""
        return self._accounts.get(id(session))

    @cached_property
    def _accounts(self) -> dict[int, PermitAccount]:
        found = (account_of(self.view, self.consumer_sessions, one) for one in self.consumer_sessions.all)
        return {id(account.session): account for account in found if account is not None}

    @property
    def client_accounts(self) -> list[PermitAccount]:
        """The permits of every session as clients keep them, whatever its queue."""
        return [*self._client_accounts.values()]

    def client_account(self, session: ConsumerSession) -> PermitAccount:
        """Return the account of a session, as its client keeps it."""
        return self._client_accounts[id(session)]

    @cached_property
    def _client_accounts(self) -> dict[int, PermitAccount]:
        return {id(one): client_account(self.consumer_sessions, one) for one in self.consumer_sessions.all}

    def broker_account(self, session: ConsumerSession) -> PermitAccount:
        """Return the account of a session, as its broker keeps it."""
        return self._broker_accounts[id(session)]

    @cached_property
    def _broker_accounts(self) -> dict[int, PermitAccount]:
        return {id(one): broker_account(self.consumer_sessions, one) for one in self.consumer_sessions.all}

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
        """The subscriptions of all other topics, whose consumers have to get everything that is not acknowledged."""
        return [one for one in self.subscriptions if base_topic(one.topic) not in self.shrinking]

    def reloads(self, topic: str) -> list[Stepped | Fired]:
        """Return what made a broker load a topic again, in order."""
        name = base_topic(topic)
        if name not in self._reloads:
            self._reloads[name] = reloads(self.view.case, self.events, name)
        return self._reloads[name]

    def setting(self, consumer: Consumer, key: str) -> int | None:
        """Return a setting that is in force for a consumer."""
        return number_in_force(self.view, consumer, key)
