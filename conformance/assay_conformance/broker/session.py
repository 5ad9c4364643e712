"""One connection: its state, the reading that may pause, and the producers and consumers on it.

    NEW --CONNECT--> CONNECTED --violation, keep-alive, close--> ENDED
     |------------------refused, keep-alive----------------------->

Before CONNECTED most of what is not CONNECT, and after it a second CONNECT, ends the connection without an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from assay_conformance.broker import replies
from assay_conformance.broker.buffer import PublishBuffer
from assay_conformance.broker.host import Host
from assay_conformance.broker.liveness import Liveness
from assay_conformance.broker.reading import Reading
from assay_conformance.broker.rules import CLOSE_VERSION, SINCE_VERSION, MigratedError, RefusalError, ViolationError
from assay_conformance.broker.timers import Timer
from assay_conformance.wire import CommandType, Frame
from assay_conformance.wire.pulsar_pb2 import CommandConnect, CommandProducer, CommandSubscribe

if TYPE_CHECKING:
    from assay_conformance.broker.consumer import Consumer
    from assay_conformance.broker.listing import Watch
    from assay_conformance.broker.producer import Producer
    from assay_conformance.broker.subscription import Subscription
    from assay_conformance.broker.topic import Topic
    from assay_conformance.broker.topics import Topics

_ANY_TIME = frozenset({CommandType.PING, CommandType.PONG, CommandType.AUTH_RESPONSE})
"""What a broker serves before CONNECT too."""

Handler = Callable[["Session", Any, Frame], None]
"""Serves one command: the session, the command's message, the frame it came in."""

Connect = Callable[["Session", CommandConnect], None]
"""Serves the first command."""


class State(Enum):
    NEW = "new"
    CONNECTED = "connected"
    ENDED = "ended"


class Attached:
    """A consumer on a session, and where it belongs."""

    __slots__ = ("consumer", "subscription", "topic")

    def __init__(self, consumer: Consumer, subscription: Subscription, topic: Topic) -> None:
        self.consumer = consumer
        self.subscription = subscription
        self.topic = topic

    def leave(self) -> None:
        """Remove the consumer; a subscription that is not durable is deleted with its last one."""
        self.subscription.leave(self.consumer)
        if not self.subscription.outlives_consumers and not self.subscription.consumers:
            self.topic.drop(self.subscription)


class Session:
    """`joining_*` are ids whose request is not answered yet, `closing` producers whose CLOSE is not.

    `evicted` are ids of producers the broker closed: their SENDs that were under way are ignored. `broker` is whom the
    client talks to, through a proxy or not. `challenged` ends a connection that does not answer an AUTH_CHALLENGE.
    """

    __slots__ = (
        "_connect",
        "_drained",
        "_handlers",
        "_state",
        "auth_method",
        "broker",
        "challenged",
        "client_version",
        "closing",
        "conn",
        "consumers",
        "evicted",
        "host",
        "joining_consumers",
        "joining_producers",
        "liveness",
        "producers",
        "reading",
        "refreshes",
        "topics",
        "version",
        "watches",
    )

    def __init__(
        self,
        host: Host,
        conn: int,
        broker: int,
        *,
        topics: Topics,
        connect: Connect,
        handlers: Mapping[int, Handler],
        buffer: PublishBuffer,
    ) -> None:
        self.host = host
        self.conn = conn
        self.broker = broker
        self.topics = topics
        self.reading = host.implementation(Reading)(host, conn, self._read, buffer)
        self.version = 0
        self.client_version = ""
        self.producers: dict[int, Producer] = {}
        self.consumers: dict[int, Attached] = {}
        self.closing: set[Producer] = set()
        self.joining_producers: dict[int, Producer] = {}
        self.joining_consumers: dict[int, Consumer] = {}
        self.evicted: set[int] = set()
        self.watches: dict[int, Watch] = {}
        self.auth_method = ""
        self.refreshes = False
        self.challenged: Timer | None = None
        self._connect = connect
        self._handlers = handlers
        self._state = State.NEW
        self._drained = 0
        self.liveness = host.implementation(Liveness)(self)

    @property
    def connected(self) -> bool:
        return self._state is State.CONNECTED

    @property
    def ended(self) -> bool:
        return self._state is State.ENDED

    def producer(self, producer_id: int) -> Producer | None:
        """Return the producer of this id on this connection."""
        return self.producers.get(producer_id)

    @property
    def is_writable(self) -> bool:
        """Whether the client reads what it is sent. Entries wait while it does not, and permits do not matter
        (Consumer.isWritable of Pulsar, which goes by what Netty has not written yet)."""
        return self.host.sink.is_writable(self.conn)

    def drained(self) -> None:
        """Serve what the client asked meanwhile, and dispatch entries again: it has read.

        Its subscriptions take turns at being the first, or one of them could take all the room each time.
        """
        self.reading.drained()
        dispatchers = list(dict.fromkeys(attached.subscription.dispatcher for attached in self.consumers.values()))
        if dispatchers:
            first = self._drained % len(dispatchers)
            self._drained += 1
            for dispatcher in (*dispatchers[first:], *dispatchers[:first]):
                dispatcher.drained()

    def send(self, frame: Frame) -> None:
        if self._state is not State.ENDED:
            self.host.sink.send(self.conn, frame)

    def notify(self, frame: Frame) -> None:
        """Send what only newer clients know."""
        if self.version >= SINCE_VERSION[CommandType(frame.type)]:
            self.send(frame)

    # --- frames in --------------------------------------------------------------------------------------------------

    def _read(self, frame: Frame) -> None:
        """Serve one frame, which may have waited."""
        self.liveness.heard()
        try:
            self._serve(frame)
        except ViolationError:
            self.end()
        if self.host.sink.is_flooded(self.conn):
            self.reading.flooded()

    def _serve(self, frame: Frame) -> None:
        if self._state is State.CONNECTED or (self._state is State.NEW and frame.type in _ANY_TIME):
            handler = self._handlers.get(frame.type)
            if handler is None:
                raise ViolationError
            body = frame.body
            try:
                handler(self, body, frame)
            except MigratedError as migrated:
                self._send_away(body, migrated)
            except RefusalError as refusal:
                self.send(replies.error(body.request_id, refusal.error, refusal.message))
        elif self._state is State.NEW:
            if frame.type != CommandType.CONNECT:
                raise ViolationError
            self._connect(self, frame.body)

    def established(self, connect: CommandConnect, broker: int) -> None:
        """Note that the handshake is done, with the broker that the client asked for."""
        self._state = State.CONNECTED
        self.broker = broker
        self.client_version = connect.client_version
        self.version = min(connect.protocol_version, self.host.announced.protocol_version)
        self.auth_method = connect.auth_method_name
        self.refreshes = connect.feature_flags.supports_auth_refresh

    def _send_away(self, body: CommandProducer | CommandSubscribe, migrated: MigratedError) -> None:
        """Send TOPIC_MIGRATED instead of an answer: the topic is in another cluster. Clients of older versions get
        nothing."""
        if self.version < SINCE_VERSION[CommandType.TOPIC_MIGRATED]:
            self.send(replies.error(body.request_id, migrated.error, migrated.message))
        elif isinstance(body, CommandProducer):
            self.send(replies.producer_migrated(body.producer_id, migrated.url))
            self.send(replies.close_producer(body.producer_id, None))
        else:
            self.send(replies.consumer_migrated(body.consumer_id, migrated.url))
            self.send(replies.close_consumer(body.consumer_id, None))

    # --- endings ----------------------------------------------------------------------------------------------------

    def close_producer(self, producer_id: int, url: str | None) -> None:
        """Close a producer by the broker: CLOSE_PRODUCER, with the assigned broker where that is known."""
        del self.producers[producer_id]
        self.evicted.add(producer_id)
        self._report_close(replies.close_producer(producer_id, url))

    def close_consumer(self, consumer_id: int, url: str | None) -> None:
        del self.consumers[consumer_id]
        self._report_close(replies.close_consumer(consumer_id, url))

    def _report_close(self, frame: Frame) -> None:
        if self.version >= CLOSE_VERSION:
            self.send(frame)
        else:
            self.end()

    def end(self) -> None:
        """Close the connection from the broker's side."""
        if self._state is not State.ENDED:
            self.host.sink.close(self.conn)
            self.ended_by_client()

    def ended_by_client(self) -> None:
        """End the connection with its producers and consumers."""
        if self._state is State.ENDED:
            return
        self._state = State.ENDED
        if self.challenged is not None:
            self.challenged.cancel()
        self.reading.stop()
        producers = *self.joining_producers.values(), *self.producers.values(), *self.closing
        self.joining_producers.clear()
        self.producers.clear()
        for producer in producers:
            producer.leave()
        consumers, self.consumers = self.consumers, {}
        for attached in consumers.values():
            attached.leave()
        for watch in self.watches.values():
            self.topics.changed.remove(watch.changed)
        self.liveness.stop()
