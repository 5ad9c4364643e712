"""How a producer or consumer comes to its broker, and comes again whenever it was lost.

    looking up -> connecting -> registering -> ready
         ^------- waiting (backoff) <------------|

The broker may end it by CLOSE_PRODUCER / CLOSE_CONSUMER with the connection left open: it comes again the same way,
or straight to the broker that the command names. While it opens, refusals are retried until the operation time-out;
once it had been open, for ever, unless they are final.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum

from assay_conformance.client.backoff import Backoff
from assay_conformance.client.connection import Connection
from assay_conformance.client.lookup import Lookup, Pool, Way
from assay_conformance.client.refusal import Cause, Refusal, Retry
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer
from assay_conformance.client.values import Done, Result
from assay_conformance.wire import BaseCommand, Frame


class Phase(Enum):
    SEEKING = "looking up and connecting"
    REGISTERING = "registering"
    READY = "ready"
    WAITING = "waiting to try again"
    CLOSING = "closing"
    CLOSED = "closed"


class Handler(ABC):
    """One producer or consumer of one topic or partition. `connection` is set from registering until it is lost."""

    def __init__(self, shared: Shared, pool: Pool, lookup: Lookup, topic: str) -> None:
        self.shared = shared
        self.topic = topic
        self.phase = Phase.WAITING
        self.connection: Connection | None = None
        self.registrations = 0
        self._pool = pool
        self._lookup = lookup
        self._backoff = Backoff(shared.jitter)
        self._attempt = 0
        self._retry_timer: Timer | None = None
        self._cluster_url: str | None = None
        self._deadline_ns = shared.now_ns + shared.settings.operation_timeout_ms * MS

    # --- what producers and consumers bring ---

    @abstractmethod
    def _registration(self, request_id: int) -> BaseCommand:
        """Return the PRODUCER or SUBSCRIBE that registers the endpoint."""

    @abstractmethod
    def _closure(self, request_id: int) -> BaseCommand:
        """Return the CLOSE_PRODUCER or CLOSE_CONSUMER of the endpoint."""

    @abstractmethod
    def _enlist(self, connection: Connection) -> None:
        """Have the connection's frames for this id come here."""

    @abstractmethod
    def _delist(self, connection: Connection) -> None: ...

    @abstractmethod
    def _registered(self, answer: Frame) -> None:
        """Note that the broker admitted the endpoint, on `connection`."""

    def _turned_away(self, refusal: Refusal) -> None:  # noqa: B027
        """Note that a registration was refused; it may be repeated."""

    @abstractmethod
    def _lost(self) -> None:
        """Note that the endpoint was ready on `connection` and is no longer."""

    @abstractmethod
    def _ended(self, refusal: Refusal) -> None:
        """Note that the endpoint will not register again: it was refused for good."""

    # --- coming ---

    def start(self) -> None:
        self._seek(None)

    @property
    def ready(self) -> bool:
        return self.phase is Phase.READY

    def _seek(self, url: str | None) -> None:
        self._attempt += 1
        attempt = self._attempt
        self.phase = Phase.SEEKING

        def reached(connection: Connection | Refusal) -> None:
            if attempt != self._attempt:
                return
            if isinstance(connection, Refusal):
                self._again(connection)
            else:
                self._register(connection)

        def found(broker: Way | Refusal) -> None:
            if attempt != self._attempt:
                return
            if isinstance(broker, Refusal):
                self._again(broker)
            else:
                self._reach(broker, reached)

        if url is None:
            self._lookup.broker(self.topic, found, self._cluster_url)
        else:
            self._reach(Way(url), reached)

    def _reach(self, way: Way, reached: Callable[[Connection | Refusal], None]) -> None:
        self._pool.use(way, reached)

    def _register(self, connection: Connection) -> None:
        attempt = self._attempt

        def answered(answer: Frame | Refusal) -> None:
            if attempt != self._attempt:
                return
            if isinstance(answer, Refusal):
                self._unregistered(answer)
            elif not getattr(answer.body, "producer_ready", True):
                # Another producer holds the topic: the broker answers again when it is our turn, however late.
                connection.wait_longer(answer.body.request_id)
            else:
                self.phase = Phase.READY
                self.registrations += 1
                self._reset_backoff()
                self._registered(answer)

        self.phase = Phase.REGISTERING
        self.connection = connection
        self._enlist(connection)
        connection.request(self._registration, answered)

    def _unregistered(self, refusal: Refusal) -> None:
        if refusal.cause is Cause.TIMED_OUT and self.connection is not None:
            self._close_unanswered(self.connection)
        self._detach()
        self._turned_away(refusal)
        self._again(refusal)

    def _close_unanswered(self, connection: Connection) -> None:
        """Close a registration whose answer came too late, so that the broker does not keep a second one of us."""
        connection.request(self._closure, _ignore)

    def _reset_backoff(self) -> None:
        self._backoff.reset()

    @property
    def _opening(self) -> bool:
        return self.registrations == 0

    def _again(self, refusal: Refusal) -> None:
        if self._is_final(refusal):
            self._finish(refusal)
            return
        delay_ns = self._delay_ns()
        if self._opening and self._is_too_late(delay_ns):
            self._finish(refusal)
            return
        self._attempt += 1
        self.phase = Phase.WAITING
        self._wait(refusal, delay_ns)

    def _is_final(self, refusal: Refusal) -> bool:
        return refusal.retry is Retry.NEVER or (self._opening and refusal.retry is Retry.ONCE_OPEN)

    def _delay_ns(self) -> int:
        return self._backoff.next_ns()

    def _is_too_late(self, delay_ns: int) -> bool:
        """Return whether an attempt so much later comes after the operation time-out."""
        return self.shared.now_ns + delay_ns > self._deadline_ns

    def _wait(self, refusal: Refusal, delay_ns: int) -> None:
        """Try again in `delay_ns`, after this refusal."""
        del refusal
        self._retry_timer = self.shared.after(delay_ns, lambda: self._seek(None))

    def _finish(self, refusal: Refusal) -> None:
        if self.phase is Phase.READY and self.connection is not None:
            # Ended by what the broker said of one message: it may still hold us, and our name.
            self.connection.request(self._closure, _ignore)
        self._stop()
        self._ended(refusal)

    def _stop(self) -> None:
        self._attempt += 1
        self._cancel_retry()
        self.phase = Phase.CLOSED
        self._detach()

    def _cancel_retry(self) -> None:
        if self._retry_timer is not None:
            self._retry_timer.cancel()

    def _detach(self) -> None:
        if self.connection is not None:
            self._delist(self.connection)
            self.connection = None

    # --- going ---

    def connection_lost(self) -> None:
        self._drop(None)

    def closed_by_broker(self, assigned_url: str | None) -> None:
        self._drop(assigned_url)

    def migrated(self, url: str) -> None:
        """Look the topic up in another cluster from here on (PIP-188)."""
        self._cluster_url = url

    def _drop(self, url: str | None) -> None:
        phase = self.phase
        if phase is Phase.CLOSING:
            return
        self._detach()
        if phase is Phase.READY:
            # What is settled here makes room, and who has waited for it finds nowhere to send to.
            self.phase = Phase.WAITING
            self._lost()
        if self.phase is Phase.CLOSED:
            return
        if url is not None:
            self._go_to(url)
        else:
            self._again(Refusal(Cause.LOST, "the connection was lost"))

    def _go_to(self, assigned_url: str) -> None:
        """Go to the broker that the command named."""
        self._seek(assigned_url)

    def _end_of_leaving(self, refusal: Refusal | None) -> Result:
        """Return how a close ends. After a lost connection the broker forgets the endpoint; else it has to answer."""
        if refusal is None or refusal.cause is Cause.LOST:
            return Done()
        return refusal.failed(certain=refusal.cause is Cause.SERVER)

    def leave(self, left: Callable[[Refusal | None], None]) -> None:
        """Close at the broker where it is known there; `left` is called when that is over, however it ended."""
        connection, phase = self.connection, self.phase
        if phase is Phase.REGISTERING and connection is not None:
            self._close_unadmitted(connection)
        if phase is not Phase.READY or connection is None:
            self._stop()
            left(None)
            return
        self.phase = Phase.CLOSING

        def answered(answer: Frame | Refusal) -> None:
            self._stop()
            left(answer if isinstance(answer, Refusal) else None)

        connection.request(self._closure, answered)

    def _close_unadmitted(self, connection: Connection) -> None:
        """Ask the broker to close a registration that it may still admit; nothing waits for the answer."""
        connection.request(self._closure, _ignore)


def _ignore(answer: Frame | Refusal) -> None:
    del answer
