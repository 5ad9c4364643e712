"""Clients that come back to their broker too often, or elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay_conformance.client.connection import Connection
from assay_conformance.client.handler import Handler, Phase
from assay_conformance.client.lookup import Way
from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.client.shared import MS
from assay_conformance.wire import Frame


class LossHandledTwice(Handler):
    """Behind a lost connection what has just come back is closed, and comes back again."""

    breaks = "connection.registers-once"
    stands_for = "apache/pulsar-dotpulsar#293: each of two signs of one loss asks for a reconnect"

    _was_lost = False

    def connection_lost(self) -> None:
        self._was_lost = self.phase is Phase.READY
        super().connection_lost()

    def _reset_backoff(self) -> None:
        super()._reset_backoff()
        if self._was_lost:
            self._was_lost = False
            self.shared.after(MS, self._come_back)

    def _come_back(self) -> None:
        if self.phase is Phase.READY and self.connection is not None:
            self.connection.request(self._closure, _ignore)
            self._drop(None)


class ReturnsForEachSign(Handler):
    """What is closed by its broker, and loses its connection while it comes back, registers twice."""

    breaks = "connection.registers-once"
    stands_for = "Go client, producer_partition.go: a second sign waits in a channel, and is served when it is back"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._signs = 0

    def _drop(self, url: str | None) -> None:
        self._signs += 1
        super()._drop(url)

    def _unregistered(self, refusal: Refusal) -> None:
        self._signs += refusal.cause is Cause.LOST
        super()._unregistered(refusal)

    def _reset_backoff(self) -> None:
        super()._reset_backoff()
        signs, self._signs = self._signs, 0
        if signs > 1:
            self.shared.after(MS, self._register_again)

    def _register_again(self) -> None:
        if self.phase is Phase.READY and self.connection is not None:
            self._attempt += 1
            self._register(self.connection)


class RegistersTwiceWhenClosed(Handler):
    """What its broker has closed registers once more when it is back."""

    breaks = "connection.registers-once"
    stands_for = "pulsar-flex#68: a producer goes on registering after its topic was unloaded"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._was_closed = False

    def closed_by_broker(self, assigned_url: str | None) -> None:
        self._was_closed = True
        super().closed_by_broker(assigned_url)

    def _reset_backoff(self) -> None:
        super()._reset_backoff()
        was_closed, self._was_closed = self._was_closed, False
        if was_closed:
            self.shared.after(MS, self._register_again)

    def _register_again(self) -> None:
        if self.phase is Phase.READY and self.connection is not None:
            self._attempt += 1
            self._register(self.connection)


class AnotherConnectionForEachReturn(Handler):
    """Each return takes another connection to the broker."""

    breaks = "connection.returns-on-its-connection"
    stands_for = "apache/pulsar#21144: of several connections to a broker, each attempt draws one"

    def _reach(self, way: Way, reached: Callable[[Connection | Refusal], None]) -> None:
        if self.registrations and self._pool.open:
            self._pool.connect(way).use(reached)
        else:
            super()._reach(way, reached)


def _ignore(answer: Frame | Refusal) -> None:
    del answer
