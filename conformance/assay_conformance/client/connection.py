"""One connection to a broker: the handshake, and who gets which frame.

CONNECT is the first frame and nothing follows it before CONNECTED: all users of the connection wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Protocol

from assay_conformance.client.keep_alive import KeepAlive
from assay_conformance.client.refusal import Cause, Refusal, server_refusal
from assay_conformance.client.requests import Answered, Requests
from assay_conformance.client.shared import MS, Shared
from assay_conformance.model.credentials import Supplied
from assay_conformance.wire import (
    FRAME_PADDING_BYTES,
    BaseCommand,
    CommandType,
    Frame,
    FramingError,
    ProtocolError,
    Splitter,
    command,
    decode,
    encode,
)
from assay_conformance.wire import pulsar_pb2 as pb
from assay_conformance.wire.service_urls import service_url, speaks_tls

PROTOCOL_VERSION = 21
CLIENT_VERSION = "assay-reference-client"

Usable = Callable[["Connection | Refusal"], None]


class State(Enum):
    OPENING = "opening"
    GREETING = "greeting"
    READY = "ready"
    CLOSED = "closed"


class Endpoint(Protocol):
    """A producer or consumer as its connection sees it."""

    def connection_lost(self) -> None: ...

    def closed_by_broker(self, assigned_url: str | None) -> None: ...

    def migrated(self, url: str) -> None: ...


class ProducerEndpoint(Endpoint, Protocol):
    def receipt(self, body: Any) -> None: ...

    def send_error(self, body: Any) -> None: ...


class ConsumerEndpoint(Endpoint, Protocol):
    def message(self, frame: Frame) -> None: ...

    def active_changed(self, active: bool) -> None: ...


class Watcher(Protocol):
    """Gets the broker's notices of topics that are created and deleted."""

    def connection_lost(self) -> None: ...

    def topics_changed(self, frame: Frame) -> None: ...


class Connection:
    """`number` is its number at the sink; `max_message_bytes`, `version` and `keeps_watch` what CONNECTED said.

    A `proxy` is connected to in place of the broker, and CONNECT names the broker.
    """

    protocol_version = PROTOCOL_VERSION

    def __init__(self, shared: Shared, url: str, proxy: str | None = None) -> None:
        self.number = next(shared.conn_numbers)
        self.url = url
        self._is_proxied = proxy is not None
        self.max_message_bytes = 0
        self.version = 0
        self.producers: dict[int, ProducerEndpoint] = {}
        self.consumers: dict[int, ConsumerEndpoint] = {}
        self.watchers: dict[int, Watcher] = {}
        self.keeps_watch = False
        self._shared = shared
        self._state = State.OPENING
        self._splitter = Splitter()
        self._waiting: list[Usable] = []
        self._handlers = self._handled()
        self._requests = shared.implementation(Requests)(shared)
        self._keep_alive = shared.implementation(KeepAlive)(
            shared, lambda: self.send(command(CommandType.PING)), self._silent
        )
        self._deadline = shared.after(
            shared.settings.connection_timeout_ms * MS, lambda: self.close(Cause.TIMED_OUT, "connecting took too long")
        )
        shared.sink.connect(self.number, proxy or url)

    @property
    def usable(self) -> bool:
        return self._state is not State.CLOSED

    def use(self, usable: Usable) -> None:
        """Call back with this connection once CONNECTED came, or with why it cannot be used."""
        if self._state is State.READY:
            usable(self)
        else:
            self._waiting.append(usable)

    def request(self, build: Callable[[int], BaseCommand], answered: Answered) -> int:
        """Write a request made for its id; `answered` gets the answer, or why none came in time."""
        request_id = self._requests.begin(answered)
        built = build(request_id)
        self._requests.expect(request_id, built.type)
        self.send(built)
        return request_id

    def wait_longer(self, request_id: int) -> None:
        """Wait longer for this request: the broker will answer it once more (producer_ready was false)."""
        self._requests.wait_longer(request_id)

    def send(self, built: BaseCommand) -> None:
        self.write(encode(built))

    def write(self, data: bytes) -> None:
        if self._state is not State.CLOSED:
            self._shared.sink.write(self.number, data)

    def close(self, cause: Cause, text: str) -> None:
        """Close the connection, and notify its producers, consumers and requests."""
        if self.usable:
            self._shared.sink.close(self.number)
            self.closed(cause, text)

    # --- from the network ---

    def opened(self) -> None:
        if self._state is not State.OPENING:
            return
        self._state = State.GREETING
        if self._shared.supplier.present:
            self._ask_supplier(self._greet)
        else:
            self._greet(None)

    def _greet(self, supplied: Supplied | None) -> None:
        self.send(
            command(
                CommandType.CONNECT,
                client_version=CLIENT_VERSION,
                protocol_version=self.protocol_version,
                **self._introduction(supplied),
                **({"proxy_to_broker_url": self.url.partition("://")[2]} if self._is_proxied else {}),
            )
        )

    def _introduction(self, supplied: Supplied | None) -> dict[str, Any]:
        """Return the fields of CONNECT that describe the client: features, and credentials where it has some."""
        return {
            "feature_flags": {"supports_broker_entry_metadata": True, "supports_auth_refresh": supplied is not None},
            **({} if supplied is None else self._credentials(supplied)),
        }

    def _ask_supplier(self, use: Callable[[Supplied], None]) -> None:
        """Call `use` with what the supplier gives. This connection is of no use without: it ends, and the next one
        asks again, as in the Java and Go clients."""
        supplied = self._shared.supplier.ask()

        def given() -> None:
            if not self.usable:
                return
            if supplied.data is None:
                self._without_credentials(use)
            else:
                use(supplied)

        if supplied.wait_ms:
            self._shared.after(supplied.wait_ms * MS, given)
        else:
            given()

    def _without_credentials(self, use: Callable[[Supplied], None]) -> None:
        del use
        self.close(Cause.LOST, "the supplier of credentials failed")

    def received(self, data: bytes) -> None:
        if not self.usable:
            return
        self._keep_alive.heard()
        try:
            frames = self._splitter.feed(data)
        except FramingError as error:
            self._frames(error.frames)
            self.close(Cause.LOST, str(error))
            return
        self._frames(frames)

    def closed(self, cause: Cause = Cause.LOST, text: str = "the connection was lost") -> None:
        """End the connection: its requests fail, and producers and consumers connect again by themselves."""
        if not self.usable:
            return
        self._state = State.CLOSED
        self._deadline.cancel()
        self._keep_alive.stop()
        refusal = Refusal(cause, text)
        concerned: list[Endpoint | Watcher] = [
            *self.producers.values(),
            *self.consumers.values(),
            *self.watchers.values(),
        ]
        for one in concerned:
            one.connection_lost()
        self._requests.end(refusal)
        waiting, self._waiting = self._waiting, []
        for usable in waiting:
            usable(refusal)

    # --- inside ---

    def _frames(self, frames: list[bytes]) -> None:
        for raw in frames:
            if not self.usable:
                return
            try:
                frame = decode(raw)
            except ProtocolError as error:
                self._undecodable(error)
                continue
            self._handlers.get(frame.type, self._unhandled)(frame)

    def _handled(self) -> dict[CommandType | int, Callable[[Frame], None]]:
        return {
            CommandType.CONNECTED: self._connected,
            CommandType.PRODUCER_SUCCESS: self._answer,
            CommandType.SUCCESS: self._answer,
            CommandType.LOOKUP_RESPONSE: self._answer,
            CommandType.PARTITIONED_METADATA_RESPONSE: self._answer,
            CommandType.ACK_RESPONSE: self._answer,
            CommandType.GET_LAST_MESSAGE_ID_RESPONSE: self._answer,
            CommandType.GET_TOPICS_OF_NAMESPACE_RESPONSE: self._answer,
            CommandType.GET_SCHEMA_RESPONSE: self._answer,
            CommandType.WATCH_TOPIC_LIST_SUCCESS: self._answer,
            CommandType.WATCH_TOPIC_UPDATE: self._topics_changed,
            CommandType.ERROR: self._error,
            CommandType.SEND_RECEIPT: self._receipt,
            CommandType.SEND_ERROR: self._send_error,
            CommandType.MESSAGE: self._message,
            CommandType.ACTIVE_CONSUMER_CHANGE: self._active_changed,
            CommandType.CLOSE_PRODUCER: self._close_producer,
            CommandType.CLOSE_CONSUMER: self._close_consumer,
            CommandType.TOPIC_MIGRATED: self._topic_migrated,
            CommandType.AUTH_CHALLENGE: self._challenge,
            CommandType.PING: self._ping,
        }

    def _undecodable(self, error: ProtocolError) -> None:
        self.close(Cause.LOST, str(error))

    def _unhandled(self, frame: Frame) -> None:
        """Ignore a command that this client does not know: its connection carries others."""

    def _connected(self, frame: Frame) -> None:
        self.version = self._agreed(frame.body.protocol_version)
        self.max_message_bytes = frame.body.max_message_size or self.max_message_bytes
        self.keeps_watch = frame.body.feature_flags.supports_topic_watchers
        self._splitter.max_frame_bytes = max(
            self._splitter.max_frame_bytes, self.max_message_bytes + FRAME_PADDING_BYTES
        )
        self._state = State.READY
        self._deadline.cancel()
        self._keep_alive.listen()
        self._release()

    def _agreed(self, brokers_version: int) -> int:
        return min(self.protocol_version, brokers_version)

    def _release(self) -> None:
        waiting, self._waiting = self._waiting, []
        for usable in waiting:
            usable(self)

    def _answer(self, frame: Frame) -> None:
        self._requests.answer(frame)

    def _error(self, frame: Frame) -> None:
        refusal = server_refusal(frame.body.error, frame.body.message)
        known = self._requests.refuse(frame.body.request_id, refusal)
        if not known and self._state is State.GREETING:
            self.close(Cause.LOST, refusal.text)

    def _receipt(self, frame: Frame) -> None:
        producer = self.producers.get(frame.body.producer_id)
        if producer is not None:
            producer.receipt(frame.body)

    def _send_error(self, frame: Frame) -> None:
        producer = self.producers.get(frame.body.producer_id)
        if producer is not None:
            producer.send_error(frame.body)

    def _message(self, frame: Frame) -> None:
        consumer = self.consumers.get(frame.body.consumer_id)
        if consumer is not None:
            consumer.message(frame)

    def _active_changed(self, frame: Frame) -> None:
        consumer = self.consumers.get(frame.body.consumer_id)
        if consumer is not None:
            consumer.active_changed(frame.body.is_active)

    def _close_producer(self, frame: Frame) -> None:
        producer = self.producers.pop(frame.body.producer_id, None)
        if producer is not None:
            producer.closed_by_broker(self._sent_to(frame))

    def _close_consumer(self, frame: Frame) -> None:
        consumer = self.consumers.pop(frame.body.consumer_id, None)
        if consumer is not None:
            consumer.closed_by_broker(self._sent_to(frame))

    def _topic_migrated(self, frame: Frame) -> None:
        """Note that the topic is in another cluster from here on; the CLOSE that sends its clients there follows."""
        body = frame.body
        of_producer = body.resource_type == pb.CommandTopicMigrated.Producer
        endpoints: Mapping[int, Endpoint] = self.producers if of_producer else self.consumers
        endpoint = endpoints.get(body.resource_id)
        if endpoint is not None and (url := self._sent_to(frame)) is not None:
            endpoint.migrated(url)

    def _topics_changed(self, frame: Frame) -> None:
        watcher = self.watchers.get(frame.body.watcher_id)
        if watcher is not None:
            watcher.topics_changed(frame)

    def _sent_to(self, frame: Frame) -> str | None:
        """Return the URL to which a frame sends this client: a TLS one if its connection is by TLS."""
        return service_url(CommandType(frame.type), frame.body, tls=speaks_tls(self.url)) or None

    def _challenge(self, frame: Frame) -> None:
        """Answer a challenge with fresh credentials (PIP-55)."""
        del frame
        if self._shared.supplier.present:
            self._ask_supplier(self._answer_challenge)
        else:
            self._answer_challenge(Supplied(data=b""))

    def _answer_challenge(self, supplied: Supplied) -> None:
        self.send(
            command(
                CommandType.AUTH_RESPONSE,
                client_version=CLIENT_VERSION,
                protocol_version=self.protocol_version,
                response=self._response(supplied),
            )
        )

    def _credentials(self, supplied: Supplied) -> dict[str, Any]:
        return {"auth_method_name": supplied.method, "auth_data": supplied.data or b""}

    def _response(self, supplied: Supplied) -> dict[str, Any]:
        """Return the answer to a challenge, always with data, even of no bytes: without, it counts as none (PIP-55)."""
        return self._credentials(supplied)

    def _ping(self, frame: Frame) -> None:
        del frame
        self.send(command(CommandType.PONG))

    def _silent(self) -> None:
        self.close(Cause.LOST, "the broker was silent for two keep-alive intervals")
