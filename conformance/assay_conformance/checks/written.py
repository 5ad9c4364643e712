"""What a client wrote for its consumers: checks that hear of its acknowledgments, and of its requests for more.

A consumer whose wire session is not certain is left out, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import ConsumerCheck, EntryKey, entry_on, from_client, plain_acks
from assay_conformance.checks.tracker import ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Frame

REDELIVER = "REDELIVER_UNACKNOWLEDGED_MESSAGES"


class Written(NamedTuple):
    """A frame that a client wrote for one of its consumers, and that we know which."""

    consumer: OpenedConsumer
    session: ConsumerSession
    frame: Frame


class AckCheck(ConsumerCheck):
    """Is told of every ACK of messages that a client wrote for a consumer that is known."""

    def acked(self, ack: Written) -> None: ...

    @on(Frame, "ACK")
    def _ack_written(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and from_client(event) and plain_acks(event):
            self.acked(Written(session.consumer, session, event))


class Request(Written):
    """A REDELIVER."""

    __slots__ = ()

    def named(self) -> set[Entry]:
        return {entry_on(self.session, id) for id in self.frame.ids}

    def asks_for(self, among: Iterable[EntryKey]) -> list[EntryKey]:
        """Of these, what it asks for; without ids it asks for everything."""
        named = self.named()
        mine = (key for key in among if key[0] == self.consumer.handle and key[1].topic == self.session.topic)
        return [key for key in mine if not named or key[1] in named]


class RequestCheck(ConsumerCheck):
    """Is told of every REDELIVER that a client wrote for a consumer that is known."""

    def redeliver(self, request: Request) -> None: ...

    @on(Frame, REDELIVER)
    def _redeliver_written(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and from_client(event):
            self.redeliver(Request(session.consumer, session, event))
