"""Clients that share connections in other ways, or not at all."""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.client.connection import Connection
from assay_conformance.client.handler import Handler
from assay_conformance.client.lookup import Lookup, Way
from assay_conformance.client.producer import Producer
from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.client.requests import Answered
from assay_conformance.wire import BaseCommand, Frame


class LooksUpOnOwnConnection(Lookup):
    """Each lookup has a connection of its own, which the client closes after the answer."""

    as_in = "Java client, ConnectionPool with connectionsPerBroker(0): BinaryProtoLookupService releases it at once"
    within = ("connection.retries-lookups", "connection.follows-redirects", "robustness.any-segmentation")

    def _connected(self, way: Way, usable: Callable[[Connection | Refusal], None]) -> None:
        if self._pool.open:
            self._pool.connect(way).use(usable)
        else:
            super()._connected(way, usable)

    def _request(self, connection: Connection, build: Callable[[int], BaseCommand], answered: Answered) -> None:
        def closing(answer: Frame | Refusal) -> None:
            connection.close(Cause.LOST, "the question is answered")
            answered(answer)

        super()._request(connection, build, closing)


class _LeavesWithItsSession(Producer):
    """Also where the broker closed the producer. A consumer waits for the answer to a SEEK after that."""

    def _drop(self, url: str | None) -> None:
        connection = self.connection
        super()._drop(url)
        if connection is not None:
            connection.close(Cause.LOST, "nothing uses it any more")


class ConnectionForEachHandler(Handler):
    """Each producer and each consumer has a connection of its own, which ends when it has closed."""

    also = (_LeavesWithItsSession,)
    as_in = "Java client, ConnectionPool with connectionsPerBroker(0)"
    within = ("resend.pending-sends-resent", "chunking.survives-reconnect", "resend.reconnects-after-close-producer")

    def _reach(self, way: Way, reached: Callable[[Connection | Refusal], None]) -> None:
        if self._pool.open:
            self._pool.connect(way).use(reached)
        else:
            super()._reach(way, reached)

    def _stop(self) -> None:
        connection = self.connection
        super()._stop()
        if connection is not None:
            connection.close(Cause.LOST, "nothing uses it any more")
