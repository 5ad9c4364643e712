"""Clients that call message handlers too often, too late or no more, or wait for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from assay_conformance.client.handed import Inbound
from assay_conformance.client.listening import HandlerThread, HandlerThreads, Listening
from assay_conformance.client.permits import Permits
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Failed, Result
from assay_conformance.model.event import ErrorClass


class CallsHandlerAfterClose(Listening):
    """Messages that wait for a handler thread when their consumer is closed are handled all the same."""

    breaks = "listener.none-after-close"
    stands_for = (
        "Java client (read in its source): tasks queued for a listener thread do not check the consumer's state"
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._queued: deque[Inbound] = deque()

    def arrived(self) -> None:
        while (inbound := self._take()) is not None:
            self._queued.append(inbound)
        self._thread.has_work(self)

    def call(self) -> bool:
        if not self._queued:
            return False
        self._calls += 1
        self._hand_over(self._queued.popleft())
        return True

    def stop(self) -> None:
        pass


class CloseWaitsForHandler(Subscription):
    """A close waits for the running handler call to return."""

    breaks = "listener.close-waits-for-no-handler"
    stands_for = "a close that joins the thread of its handlers"

    _waiting: Callable[[], None] | None = None

    def close(self, closed: Callable[[Result], None]) -> None:
        if self._listening is None or self._listening.wants:
            super().close(closed)
        else:
            whole = super().close
            self._waiting = lambda: whole(closed)

    def handler_returned(self, *, raised: bool) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting()
        super().handler_returned(raised=raised)


class HandlerCallsOverlap(HandlerThread):
    """A handler is called with the next message while its previous call still runs."""

    breaks = ("listener.one-call-at-a-time", "listener.within-threads")
    stands_for = "one task of a thread pool for each message, as in a client that starts a goroutine for each"

    @property
    def _is_free(self) -> bool:
        return True


class HandlerThreadForEachConsumer(HandlerThreads):
    """Each consumer has a handler thread of its own, whatever number was configured."""

    breaks = "listener.within-threads"
    stands_for = "an option that the C++ client uses, and others never read"

    def next(self) -> HandlerThread:
        return self._make()


class ExceptionEndsListener(Listening):
    """A handler is never called again after it has raised an exception."""

    breaks = "listener.survives-exception"
    stands_for = "a loop around the handler that an exception leaves: in pulsar-client-node#319 it ended the process"

    def returned(self, *, raised: bool) -> None:
        self._over = self._over or raised
        super().returned(raised=raised)


class AcksAfterException(Subscription):
    """A message is acknowledged when its handler ends, even by an exception."""

    breaks = "listener.survives-exception"
    stands_for = "an acknowledgment in the `finally` of the call"

    def handler_returned(self, *, raised: bool) -> None:
        if raised and not self._closed:
            handed = self._handed[-1]
            handed.consumer.ack(handed, cumulative=False)
            handed.consumer.acked(lambda _result: None, cumulative=False)
        super().handler_returned(raised=raised)


class BlockedHandlerHoldsReceives(Subscription):
    """No receive gets a message while a handler of the client runs."""

    breaks = "listener.blocked-handler-delays-no-other"
    stands_for = "pulsar-client 3.3.0: messages of partitions reach their consumer through the handler thread"

    def _serve(self) -> None:
        if self._listening is not None or not self._shared.handler_threads.is_busy:
            super()._serve()


class AckInsideHandlerHangs(Subscription):
    """An acknowledgment made inside a handler call waits for the thread of that call."""

    breaks = "listener.calls-inside-succeed"
    stands_for = "a blocking acknowledgment whose callback runs on the thread that waits for it"

    def ack(self, op: int, numbers: Sequence[int], *, cumulative: bool, of: Subscription) -> None:
        if self._listening is None or self._listening.wants:
            super().ack(op, numbers, cumulative=cumulative, of=of)


class AckFailsUntilAllTopicsAreOpen(Subscription):
    """An acknowledgment fails until all topics of the consumer are subscribed."""

    breaks = "listener.calls-inside-succeed"
    stands_for = "pulsar-client-cpp#447: a handler was called before the consumer of all topics was ready"

    def ack(self, op: int, numbers: Sequence[int], *, cumulative: bool, of: Subscription) -> None:
        if all(consumer.registrations for consumer in self.consumers):
            super().ack(op, numbers, cumulative=cumulative, of=of)
        else:
            text = "the consumer is not ready"
            self._shared.sink.completed(op, Failed(ErrorClass.CLOSED, text, certain=True))


class NewTopicsAreNotPaused(Subscription):
    """A topic that is found while its consumer is paused gets permits."""

    breaks = "listener.pause-holds-on-new-sessions"
    stands_for = "apache/pulsar#8214: a pause reached only the existing topics"

    def _widen(self, topic: str, partitions: range, answered: Callable[[bool], None]) -> None:
        paused, self._paused = self._paused, False
        super()._widen(topic, partitions, answered)
        self._paused = paused


class PauseEndsWithConnection(Permits):
    """A paused consumer grants a whole queue of permits when it reconnects."""

    breaks = "listener.pause-holds-on-new-sessions"
    stands_for = "a pause that is checked where permits are returned, and not where they are first granted"

    def registered(self, *, first: bool) -> None:
        paused, self._paused = self._paused, False
        super().registered(first=first)
        self._paused = paused
