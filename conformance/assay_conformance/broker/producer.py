"""One producer on a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay_conformance.broker import replies
from assay_conformance.broker.session import Session
from assay_conformance.wire import CommandType
from assay_conformance.wire.pulsar_pb2 import CommandProducer

if TYPE_CHECKING:
    from assay_conformance.broker.topic import Topic


class Producer:
    """`in_flight` counts SENDs the store has not answered; a CLOSE_PRODUCER is answered after them."""

    __slots__ = ("_closing", "epoch", "gone", "in_flight", "name", "producer_id", "session", "topic")

    def __init__(self, session: Session, topic: Topic, request: CommandProducer, name: str) -> None:
        self.session = session
        self.topic = topic
        self.producer_id = request.producer_id
        self.epoch = request.epoch
        self.name = name
        self.in_flight = 0
        self.gone = False
        self._closing: int | None = None

    def succeeds(self, other: Producer) -> bool:
        """True when this is the same producer, created again by a client that lost the answer."""
        return self.session is other.session and self.producer_id == other.producer_id and self.epoch > other.epoch

    def leave(self) -> None:
        """Gone: its name is free, and nothing of it is answered any more."""
        self.gone = True
        self.session.closing.discard(self)
        self.topic.forget(self)

    def evict(self, url: str | None) -> None:
        """The broker closes it; the client is told, or its own CLOSE answered."""
        self.leave()
        if self._closing is None:
            self.session.close_producer(self.producer_id, url)
        else:
            self._answer_close()

    def close(self, request_id: int) -> None:
        """The client closes it: answered once every SEND before is."""
        self._closing = request_id
        self.session.closing.add(self)
        self._finish()

    def written(self) -> None:
        """A SEND that had to wait for the store was answered."""
        self.in_flight -= 1
        self._finish()

    def _finish(self) -> None:
        if self._closing is not None and not self.in_flight and not self.gone:
            self.leave()
            self._answer_close()

    def _answer_close(self) -> None:
        self.session.send(replies.reply(CommandType.SUCCESS, request_id=self._closing))
