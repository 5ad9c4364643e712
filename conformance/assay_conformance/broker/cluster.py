"""The reference broker: a whole cluster as one machine without sockets or a clock.

Frames, connections and time come in as method calls, frames and closings go out through the sink, and the sink gets the
earliest moment it wants to be woken at. `received` serves deadlines that are due first, so late wake-ups change no
order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from assay_conformance.broker import handshake
from assay_conformance.broker.buffer import PublishBuffer
from assay_conformance.broker.handlers import HANDLERS
from assay_conformance.broker.host import ClusterSink, Host
from assay_conformance.broker.rules import RefusalError
from assay_conformance.broker.session import Session
from assay_conformance.broker.steps import read_step
from assay_conformance.broker.topic import Topic
from assay_conformance.broker.topics import Topics
from assay_conformance.model.case import Topology
from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import MessageId
from assay_conformance.model.overrides import HONEST, Overrides
from assay_conformance.wire import Frame


class ReadBackState(msgspec.Struct, frozen=True):
    """Every entry a topic holds, in order."""

    topic: str
    entries: tuple[MessageId, ...]


class CursorState(msgspec.Struct, frozen=True):
    """How far a subscription is: everything up to `mark_delete` (None = nothing) is acked, and `acked` beyond it.

    `backlog` counts entries.
    """

    topic: str
    subscription: str
    mark_delete: MessageId | None
    acked: tuple[MessageId, ...]
    backlog: int


class Cluster:
    """`urls[i]` is the service url of broker i; `topics` maps the topology's local names to full ones; `unix_ms` is
    the wall clock at `now_ns`. All times are nanoseconds of one monotonic clock.

    `topics` is what an administrator works on, after `advance`: what it refuses is a RefusalError.
    """

    def __init__(
        self,
        topology: Topology,
        sink: ClusterSink,
        *,
        urls: Sequence[str],
        topics: Mapping[str, str],
        overrides: Overrides = HONEST,
        now_ns: int = 0,
        unix_ms: int = 0,
    ) -> None:
        self._host = Host(sink, overrides, now_ns, unix_ms, topology)
        self.topics = self._host.implementation(Topics)(self._host, topology, urls, topics)
        self._sessions: dict[int, Session] = {}
        self._buffers = [self._host.implementation(PublishBuffer)(self._host) for _ in urls]

    @property
    def max_message_bytes(self) -> int:
        """What CONNECTED announces of it."""
        return self._host.announced.max_message_bytes

    def opened(self, conn: int, broker: int, now_ns: int) -> None:
        """Open the session of a client that connected to broker `broker`."""
        self.advance(now_ns)
        self._sessions[conn] = self._host.implementation(Session)(
            self._host,
            conn,
            broker,
            topics=self.topics,
            connect=handshake.connect,
            handlers=HANDLERS,
            buffer=self._buffers[broker],
        )

    def closed(self, conn: int, now_ns: int) -> None:
        """End the session of a connection that was closed by either side."""
        self.advance(now_ns)
        session = self._sessions.pop(conn, None)
        if session is not None:
            session.ended_by_client()

    def received(self, conn: int, frame: Frame, now_ns: int) -> None:
        """Serve a frame; on a connection that has ended it is lost."""
        host = self._host
        host.now_ns = now_ns
        host.timers.run(now_ns)
        session = self._sessions.get(conn)
        if session is not None:
            session.reading.receive(frame)

    def drained(self, conn: int, now_ns: int) -> None:
        """Go on with a connection that is writable again."""
        self.advance(now_ns)
        session = self._sessions.get(conn)
        if session is not None:
            session.drained()

    def undecodable(self, conn: int, now_ns: int) -> None:
        """Close a connection on which bytes came that are no frame."""
        self.advance(now_ns)
        session = self._sessions.get(conn)
        if session is not None:
            session.end()

    def advance(self, now_ns: int) -> None:
        """Serve what is due."""
        self._host.now_ns = now_ns
        self._host.timers.run(now_ns)

    @property
    def unix_ms(self) -> int:
        """The wall clock of the last input."""
        return self._host.unix_ms

    def next_deadline_ns(self) -> int | None:
        return self._host.timers.next_ns()

    def command(self, verb: str, args: dict[str, Any], now_ns: int) -> None:
        """Carry out a broker step of a Case. Raises UsageError for an unknown verb or wrong arguments."""
        self.advance(now_ns)
        step = read_step(verb, args)
        try:
            step.carry_out(self.topics, self._sessions.values(), self._host)
        except RefusalError as refusal:
            raise UsageError(f"broker step {verb!r}: {refusal}") from refusal

    def read_back(self) -> Iterator[ReadBackState | CursorState]:
        """Yield the final state of every topic, unused ones included, and of every subscription."""
        for topic in dict.fromkeys((*self.topics.stated(), *self.topics)):
            yield ReadBackState(topic.local, _stored(topic))
            for subscription in topic.subscriptions.values():
                cursor = subscription.cursor
                yield CursorState(
                    topic.local,
                    subscription.name,
                    _id(topic, cursor.mark - 1) if cursor.mark else None,
                    tuple(_id(topic, index) for index in sorted(cursor.acked)),
                    cursor.backlog(len(topic.store.entries)),
                )


def _stored(topic: Topic) -> tuple[MessageId, ...]:
    return tuple(_id(topic, index) for index in range(topic.store.deleted, len(topic.store.entries)))


def _id(topic: Topic, index: int) -> MessageId:
    entry = topic.store.entries[index]
    return MessageId(entry.ledger, entry.entry, topic.partition)
