"""Clients in which one producer or consumer holds up another one.

What a mutant keeps has a name of its class alone, so that two of them compose.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from assay_conformance.client.connection import Connection
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.handler import Phase
from assay_conformance.client.producer import Producer
from assay_conformance.client.redelivery import Redelivery
from assay_conformance.client.refusal import Cause, Refusal, Retry
from assay_conformance.client.requests import Answered
from assay_conformance.client.shared import MS
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Outgoing
from assay_conformance.wire import BaseCommand, Frame
from assay_conformance.wire import pulsar_pb2 as pb

_BESIDE = "robustness.trouble-delays-no-other"
_LOOKS_AGAIN_NS = 10 * MS


class OneRequestAtATime(Connection):
    """A connection sends a request only when the one before it was answered or has timed out."""

    breaks = _BESIDE
    stands_for = "a lock held from a request to its answer, as around a client's map of producers"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._line: deque[tuple[Callable[[int], BaseCommand], Answered]] = deque()
        self._asks = False

    def request(self, build: Callable[[int], BaseCommand], answered: Answered) -> int:
        if self._asks and self.usable:
            self._line.append((build, answered))
            return -1
        self._asks = True

        def ended(answer: Frame | Refusal) -> None:
            self._asks = False
            answered(answer)
            if self._line and not self._asks:
                self.request(*self._line.popleft())

        return super().request(build, ended)


class _Inbox:
    """What came on a connection, kept for as long as something else goes on."""

    def __init__(self, connection: Connection, is_stopped: Callable[[], bool], read: Callable[[bytes], None]) -> None:
        self._connection, self._is_stopped, self._read = connection, is_stopped, read
        self._kept: deque[bytes] = deque()

    def take(self, data: bytes) -> None:
        self._kept.append(data)
        if len(self._kept) == 1:
            self._go_on()

    def _go_on(self) -> None:
        while self._kept and not self._is_stopped():
            self._read(self._kept[0])
            self._kept.popleft()
        if self._kept and self._connection.usable:
            self._connection._shared.after(_LOOKS_AGAIN_NS, self._go_on)


class FullQueueStopsReading(Connection):
    """While a consumer's receiver queue is full, nothing is read from its connection."""

    breaks = _BESIDE
    stands_for = "apache/pulsar-client-go#164: the reader of the connection waits for room in a consumer's queue"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.__inbox = _Inbox(self, self.__is_stopped, super().received)

    def received(self, data: bytes) -> None:
        self.__inbox.take(data)

    def __is_stopped(self) -> bool:
        return any(isinstance(one, Consumer) and _is_full(one) for one in self.consumers.values())


class RunningHandlerStopsReading(Connection):
    """While a message handler runs, nothing is read from any connection."""

    breaks = _BESIDE
    stands_for = "handlers called on the thread that reads the connection"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.__inbox = _Inbox(self, self.__is_stopped, super().received)

    def received(self, data: bytes) -> None:
        self.__inbox.take(data)

    def __is_stopped(self) -> bool:
        return self._shared.handler_threads.is_busy


class _Watched(Redelivery[Any]):
    """It says whether a nack waits for its time."""

    @property
    def has_nacks(self) -> bool:
        return bool(self._nacks._held)


class OpenNackStopsReading(Connection):
    """While a nack waits for its redelivery delay, nothing is read from the consumer's connection."""

    breaks = _BESIDE
    stands_for = "pulsar-client-python#116: after many nacks all but one consumer of the process stall"
    also = (_Watched,)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.__inbox = _Inbox(self, self.__is_stopped, super().received)

    def received(self, data: bytes) -> None:
        self.__inbox.take(data)

    def __is_stopped(self) -> bool:
        found = (one._redelivery for one in self.consumers.values() if isinstance(one, Consumer))
        return any(isinstance(one, _Watched) and one.has_nacks for one in found)


class FullProducerHoldsOthers(Producer):
    """While one producer's pending queue is full, no other producer on its connection sends."""

    breaks = _BESIDE
    stands_for = "one event queue for all producers, in which a send waits for room"

    def send(self, op: int, message: Outgoing, *, sync: bool = False) -> None:
        if self.connection is not None and self.__stops(self.connection):
            self.shared.after(_LOOKS_AGAIN_NS, lambda: self.send(op, message, sync=sync))
        else:
            super().send(op, message, sync=sync)

    def __stops(self, connection: Connection) -> bool:
        others = (one for one in connection.producers.values() if isinstance(one, Producer) and one is not self)
        return any(other._pending.why_full() is not None for other in others)


class ClosingProducerHoldsOthers(Producer):
    """While a producer waits for the answer to its close, no other producer on its connection sends."""

    breaks = _BESIDE
    stands_for = "a close that waits while it holds a lock of the client that sends need"

    def send(self, op: int, message: Outgoing, *, sync: bool = False) -> None:
        if self.connection is not None and self.__stops(self.connection):
            self.shared.after(_LOOKS_AGAIN_NS, lambda: self.send(op, message, sync=sync))
        else:
            super().send(op, message, sync=sync)

    def __stops(self, connection: Connection) -> bool:
        return any(isinstance(one, Producer) and one.phase is Phase.CLOSING for one in connection.producers.values())


class WaitingReceiveHoldsSends(Producer):
    """While a receive waits, no producer on the connection sends."""

    breaks = _BESIDE
    stands_for = "apache/pulsar-client-node#252: a waiting receive takes a thread of the pool that sends need"

    def send(self, op: int, message: Outgoing, *, sync: bool = False) -> None:
        if self.connection is not None and self.__stops(self.connection):
            self.shared.after(_LOOKS_AGAIN_NS, lambda: self.send(op, message, sync=sync))
        else:
            super().send(op, message, sync=sync)

    def __stops(self, connection: Connection) -> bool:
        found = (one._queue for one in connection.consumers.values() if isinstance(one, Consumer))
        return any(isinstance(one, Subscription) and one._receives for one in found)


class _ForGood(Refusal):
    """It is not asked again."""

    @property
    def retry(self) -> Retry:
        return Retry.NEVER


class RefusalFailsOthers(Connection):
    """When a broker is not ready for one request, the connection is closed and all other requests on it fail for
    good."""

    breaks = _BESIDE
    stands_for = "apache/pulsar-client-cpp#322: the other requests fail with an error that is not retried"

    def _error(self, frame: Frame) -> None:
        super()._error(frame)
        if frame.body.error == pb.ServiceNotReady and self.usable:
            self._requests.end(_ForGood(Cause.LOST, "the connection was closed"))
            self.close(Cause.LOST, "the broker was not ready")


def _is_full(consumer: Consumer) -> bool:
    queue = consumer._queue
    return isinstance(queue, Subscription) and len(queue._queue) >= consumer._settings.receiver_queue_size > 0
