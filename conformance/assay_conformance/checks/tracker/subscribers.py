"""The consumers of a Case over all their connections, and which of them is behind a SUBSCRIBE."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TypeVar

from assay_conformance.checks.tracker.values import ConsumerSession, OpenedConsumer
from assay_conformance.model.event import AgentEnded, Invoke
from assay_conformance.model.topic_names import base_topic, is_partition, partition_name

K = TypeVar("K", bound=Hashable)


class Subscribers:
    """`opened` are the consumers the bench asked for, by handle; `sessions` the latest on the wire, by connection and
    id; `all` is every one of these, in order."""

    def __init__(self) -> None:
        self.opened: dict[int, OpenedConsumer] = {}
        self.sessions: dict[tuple[int, int], ConsumerSession] = {}
        self.all: list[ConsumerSession] = []
        self._on: dict[int, list[ConsumerSession]] = {}
        self._open: dict[tuple[int, int], list[ConsumerSession]] = {}
        self._alive: dict[int, OpenedConsumer] = {}
        """Those whose process has not died."""
        self._of_client: dict[object, list[OpenedConsumer]] = {}
        self._named: dict[tuple[str, str], list[OpenedConsumer]] = {}
        """Topic and subscription -> consumers of it that may be open."""
        self._readers: dict[str, list[OpenedConsumer]] = {}
        """Topic -> those that may go by another name than they were given."""
        self._had: dict[tuple[str, str, int], OpenedConsumer] = {}
        """Topic, subscription and id -> the first consumer that subscribed so."""
        self._partitioned: set[str] = set()

    def asked_for(self, consumer: OpenedConsumer) -> None:
        """Note that the application opened a consumer."""
        invoke = consumer.invoke
        self.opened[consumer.handle] = self._alive[consumer.handle] = consumer
        client = invoke.args.get("client")
        if client is None or isinstance(client, int):
            self._of_client.setdefault(client, []).append(consumer)
        for topic in dict.fromkeys(consumer.topics):
            self._named.setdefault((topic, consumer.subscription), []).append(consumer)
            if _is_reader(consumer):
                self._readers.setdefault(topic, []).append(consumer)

    def killed(self, event: AgentEnded) -> None:
        """Note that the process of every consumer so far is dead."""
        for consumer in self._alive.values():
            consumer.closing = consumer.closing or event
            consumer.closed = consumer.closed or event
        self._alive.clear()

    def came(self, session: ConsumerSession) -> None:
        """Note that a SUBSCRIBE was written."""
        before = self.sessions.get((session.conn, session.consumer_id))
        self.sessions[session.conn, session.consumer_id] = session
        self.all.append(session)
        self._on.setdefault(session.conn, []).append(session)
        self._open.setdefault((session.conn, session.consumer_id), []).append(session)
        if is_partition(session.topic):
            self._partitioned.add(base_topic(session.topic))
        session.consumer = self._subscriber(session, before)
        if session.consumer is not None:
            session.consumer.add(session)
            self._had.setdefault(_place(session), session.consumer)

    def on(self, conn: int) -> list[ConsumerSession]:
        """Return every session that was asked for on a connection: a client may ask twice under one id."""
        return self._on.get(conn, [])

    def ends(self, conn: int, consumer_id: int) -> list[ConsumerSession]:
        """Remove and return the sessions under one id that no frame has ended so far."""
        return self._open.pop((conn, consumer_id), [])

    def release(self) -> None:
        """Let go of the sessions: consumers refer to their sessions, and these to them."""
        for session in self.all:
            session.consumer = session.known_until = None

    def part_of(self, base: str, partition: int) -> str:
        """Return the topic that a message id of this one names."""
        return partition_name(base, partition) if base in self._partitioned else base

    def closed_by(self, close: Invoke) -> Iterator[OpenedConsumer]:
        """Yield the consumers that a close of this handle ends: itself, or all of that client."""
        if close.handle is not None and (own := self.opened.get(close.handle)) is not None:
            yield own
        yield from self._of_client.get(close.handle, ())

    def _subscriber(self, session: ConsumerSession, before: ConsumerSession | None) -> OpenedConsumer | None:
        """Return the only open consumer that can have written this SUBSCRIBE.

        `before` is the session of its ids until now. A consumer that has a session there goes on with it, so it asks
        again only for itself. Where two consumers of one subscription lost their sessions together, which of them comes
        back first is not known.
        """
        candidates = self._candidates(session)
        mine = before.consumer if before is not None and before.topic == session.topic else None
        if mine is not None and mine in candidates and session.topic not in mine.unsure:
            return mine
        possible = [consumer for consumer in candidates if consumer.live_on(session.topic) is None] or candidates
        if any(session.topic in consumer.unsure for consumer in possible):
            return None  # What it got there before is not known, so neither is what it holds.
        if len(possible) == 1 and not self._may_be_of_closed(session, possible[0]):
            return possible[0]
        for consumer in possible:
            consumer.unsure.add(session.topic)
            if (live := consumer.live_on(session.topic)) is not None:
                live.consumer, live.known_until = None, (consumer, session.request)
        return None

    def _may_be_of_closed(self, session: ConsumerSession, consumer: OpenedConsumer) -> bool:
        """Return whether this SUBSCRIBE, or that of the session which the consumer has there, may be one of a consumer
        that is closed: their ids differ, and one of them was that consumer's.

        Some clients go on with what their application has closed: pulsar-rs 6.9.1 subscribes it again after an outage.
        """
        live = consumer.live_on(session.topic)
        if live is None or live.consumer_id == session.consumer_id:
            return False
        first = (self._had.get(_place(one)) for one in (live, session))
        return any(one is not None and one is not consumer and one.closed is not None for one in first)

    def _candidates(self, session: ConsumerSession) -> list[OpenedConsumer]:
        """Open consumers of its topic that go by its name: the one they were given, or one that a reader made up."""
        base, name = base_topic(session.topic), session.subscription
        found = _still_open(self._named, (base, name))
        if session.request.fields.get("durable", True) is False:
            readers = _still_open(self._readers, base)
            found += (one for one in readers if one.subscription != name and _goes_by(one, name))
        return found


def _place(session: ConsumerSession) -> tuple[str, str, int]:
    return session.topic, session.subscription, session.consumer_id


def _still_open(consumers: dict[K, list[OpenedConsumer]], place: K) -> list[OpenedConsumer]:
    """Return a copy of the consumers there that are open; closed ones are removed for good."""
    there = [consumer for consumer in consumers.get(place, ()) if consumer.closed is None]
    if there:
        consumers[place] = there
    else:
        consumers.pop(place, None)
    return [*there]


def _is_reader(consumer: OpenedConsumer) -> bool:
    config = consumer.invoke.args.get("config") or {}
    return config.get("durable", True) is False


def _goes_by(reader: OpenedConsumer, name: str) -> bool:
    """Return whether a reader may have made up this name: it keeps the one that it has."""
    return all(one.subscription == name for one in (*reader.sessions[:1], *reader.sessions[-1:]))
