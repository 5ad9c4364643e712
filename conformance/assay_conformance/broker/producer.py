"""One producer on a topic: the answers to its request, and its ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay_conformance.broker import replies
from assay_conformance.broker.rules import RefusalError
from assay_conformance.broker.session import Session
from assay_conformance.wire import CommandType
from assay_conformance.wire.pulsar_pb2 import CommandProducer

if TYPE_CHECKING:
    from assay_conformance.broker.topic import Topic


class Producer:
    """`in_flight` counts SENDs the store has not answered; a CLOSE_PRODUCER is answered after them. `topic_epoch` is
    the epoch in which it had the topic for itself, None for one that never had. `gone`: its name is free, and nothing
    of it is answered any more. `encrypted`: it said that it encrypts."""

    __slots__ = (
        "_closing",
        "_request_id",
        "access_mode",
        "encrypted",
        "epoch",
        "gone",
        "in_flight",
        "metadata",
        "name",
        "producer_id",
        "schema_version",
        "session",
        "since_ms",
        "topic",
        "topic_epoch",
    )

    def __init__(
        self, session: Session, topic: Topic, request: CommandProducer, name: str, schema_version: bytes
    ) -> None:
        self.session = session
        self.topic = topic
        self.producer_id = request.producer_id
        self.since_ms = session.host.unix_ms
        self.epoch = request.epoch
        self.encrypted = request.encrypted
        self.access_mode = request.producer_access_mode
        self.topic_epoch: int | None = request.topic_epoch if request.HasField("topic_epoch") else None
        self.name = name
        self.metadata = {pair.key: pair.value for pair in request.metadata}
        self.schema_version = schema_version
        self.in_flight = 0
        self.gone = False
        self._request_id = request.request_id
        self._closing: int | None = None

    def succeeds(self, other: Producer) -> bool:
        """Return whether this is the same producer, created again by a client that lost the answer."""
        return self.session is other.session and self.producer_id == other.producer_id and self.epoch > other.epoch

    # --- the answer to its request ----------------------------------------------------------------------------------

    def admitted(self) -> None:
        session = self.session
        del session.joining_producers[self.producer_id]
        session.producers[self.producer_id] = self
        session.evicted.discard(self.producer_id)
        self._succeed(self._request_id, self.topic.admission.access.epoch)

    def repeat(self, request_id: int) -> None:
        """Answer a repeated PRODUCER as before, without epoch and last sequence id, as a real broker does."""
        self.session.send(replies.producer_success(request_id, self.name, schema_version=self.schema_version))

    def _succeed(self, request_id: int, topic_epoch: int | None) -> None:
        last = self.topic.publishing.last_sequence_id(self.name)
        self.session.send(
            replies.producer_success(
                request_id,
                self.name,
                last_sequence_id=last,
                schema_version=self.schema_version,
                topic_epoch=topic_epoch,
            )
        )

    def queued(self) -> None:
        """Answer that the producer waits for its turn; the request is answered again then."""
        self.session.send(
            replies.producer_success(
                self._request_id,
                self.name,
                last_sequence_id=self.topic.publishing.last_sequence_id(self.name),
                schema_version=self.schema_version,
                ready=False,
            )
        )

    def refused(self, refusal: RefusalError) -> None:
        self.gone = True
        self.session.joining_producers.pop(self.producer_id, None)
        self.session.send(replies.error(self._request_id, refusal.error, refusal.message))

    # --- its ends ---------------------------------------------------------------------------------------------------

    def leave(self) -> None:
        self.gone = True
        self.session.closing.discard(self)
        self.topic.admission.forget(self)

    def evict(self, url: str | None) -> None:
        """Close it by the broker: send CLOSE_PRODUCER, or answer the client's own."""
        self.leave()
        if self._closing is None:
            self.session.close_producer(self.producer_id, url)
        else:
            self._answer_close()

    def fence(self) -> None:
        """Fence it: another producer took the topic for itself. The client is not notified before its next SEND."""
        self.leave()
        if self._closing is None:
            del self.session.producers[self.producer_id]
        else:
            self._answer_close()

    def close(self, request_id: int) -> None:
        """Close the producer at the client's request, which is answered once every SEND before is."""
        self._closing = request_id
        self.session.closing.add(self)
        self._finish()

    def written(self) -> None:
        """Note that a SEND which had to wait for the store was answered."""
        self.in_flight -= 1
        self._finish()

    def _finish(self) -> None:
        if self._closing is not None and not self.in_flight and not self.gone:
            self.leave()
            self._answer_close()

    def _answer_close(self) -> None:
        self.session.send(replies.reply(CommandType.SUCCESS, request_id=self._closing))
