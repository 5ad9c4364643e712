"""Clients whose consumers ask for messages when they are closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay_conformance.client.connection import Connection
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.redelivery import Redelivery
from assay_conformance.wire import CommandType, command
from assay_conformance.wire import pulsar_pb2 as pb


class RedeliversWhenClosed(Redelivery[Any]):
    """Nacked messages are asked for when their consumer is closed, or has unsubscribed."""

    breaks = "subscription.nothing-after-close"
    stands_for = "pulsar-client-cpp#188: closing a consumer leaves the timer of its negative acknowledgments running"

    last: Connection | None = None

    def nack(self, message: Any) -> None:
        self.last = _connection_of(self._outlet) or self.last
        super().nack(message)

    def drop(self) -> None:
        self._held.clear()

    def _nacks_due(self, due: Sequence[Any]) -> None:
        if _is_closed(self._outlet):
            _ask(self._outlet, self.last, [id for message in due for id in self._named(message, nacked=True)])
        else:
            super()._nacks_due(due)


class TimesOutWhenClosed(Redelivery[Any]):
    """The acknowledgment time-outs of a consumer that is closed run on, and what is over is asked for."""

    breaks = "subscription.nothing-after-close"
    stands_for = "pulsar-client-cpp#188, for the tracker of what is not acknowledged"

    last: Connection | None = None

    def hand_over(self, message: Any) -> None:
        self.last = _connection_of(self._outlet) or self.last
        super().hand_over(message)

    def drop(self) -> None:
        self._nacks.clear()

    def _ask(self, due: Sequence[Any], *, nacked: bool = False) -> None:
        if _is_closed(self._outlet):
            _ask(self._outlet, self.last, [id for message in due for id in self._named(message, nacked=nacked)])
        else:
            super()._ask(due, nacked=nacked)


def _connection_of(outlet: object) -> Connection | None:
    return outlet.connection if isinstance(outlet, Consumer) else None


def _is_closed(outlet: object) -> bool:
    return isinstance(outlet, Consumer) and outlet.closed


def _ask(outlet: object, connection: Connection | None, ids: Sequence[pb.MessageIdData]) -> None:
    """Ask for messages of a closed consumer on the connection that it had."""
    if isinstance(outlet, Consumer) and connection is not None and connection.usable:
        kind = CommandType.REDELIVER_UNACKNOWLEDGED_MESSAGES
        connection.send(command(kind, consumer_id=outlet.consumer_id, message_ids=ids))
