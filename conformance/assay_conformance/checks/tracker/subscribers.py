"""The consumers of a Case over all their connections, and which of them is behind a SUBSCRIBE."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.tracker.values import ConsumerSession, OpenedConsumer
from assay_conformance.model.event import Invoke
from assay_conformance.model.topic_names import base_topic, is_partition, partition_name


class Subscribers:
    """`opened` are the consumers the bench asked for, by handle; `sessions` the latest on the wire, by connection and
    id; `all` is every one of these, in order."""

    def __init__(self) -> None:
        self.opened: dict[int, OpenedConsumer] = {}
        self.sessions: dict[tuple[int, int], ConsumerSession] = {}
        self.all: list[ConsumerSession] = []
        self._on: dict[int, list[ConsumerSession]] = {}
        self._partitioned: set[str] = set()

    def came(self, session: ConsumerSession) -> None:
        """A SUBSCRIBE was written."""
        before = self.sessions.get((session.conn, session.consumer_id))
        self.sessions[session.conn, session.consumer_id] = session
        self.all.append(session)
        self._on.setdefault(session.conn, []).append(session)
        if is_partition(session.topic):
            self._partitioned.add(base_topic(session.topic))
        session.consumer = self._subscriber(session, before)
        if session.consumer is not None:
            session.consumer.add(session)

    def on(self, conn: int) -> list[ConsumerSession]:
        """Every session that was asked for on a connection: a client may ask twice under one id."""
        return self._on.get(conn, [])

    def let_go(self) -> None:
        """Consumers refer to their sessions, and these to them."""
        for session in self.all:
            session.consumer = session.known_until = None

    def part_of(self, base: str, partition: int) -> str:
        """The topic that a message id of this one names."""
        return partition_name(base, partition) if base in self._partitioned else base

    def closed_by(self, close: Invoke) -> Iterator[OpenedConsumer]:
        """The consumers that a close of this handle ends: itself, or all of that client."""
        for consumer in self.opened.values():
            if close.handle in (consumer.handle, consumer.invoke.args.get("client")):
                yield consumer

    def _subscriber(self, session: ConsumerSession, before: ConsumerSession | None) -> OpenedConsumer | None:
        """The only open consumer that can have written this SUBSCRIBE; `before` is the session of its ids until now.

        One that has a session there goes on with it, so it asks again only for itself. Where two consumers of one
        subscription lost their sessions together, which of them comes back first is not known.
        """
        base = base_topic(session.topic)
        candidates = [
            consumer
            for consumer in self.opened.values()
            if consumer.closed is None and base in consumer.topics and _goes_by_its_name(consumer, session)
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
                live.consumer, live.known_until = None, (consumer, session.request)
        return None


def _goes_by_its_name(consumer: OpenedConsumer, session: ConsumerSession) -> bool:
    """The name it was given; readers of some clients make one up, and keep it."""
    if consumer.subscription == session.subscription:
        return True
    config = consumer.invoke.args.get("config") or {}
    is_reader = config.get("durable", True) is False and session.request.fields.get("durable", True) is False
    return is_reader and all(known.subscription == session.subscription for known in consumer.sessions)
