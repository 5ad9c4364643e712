"""Clients that lose, change or repeat messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar
from weakref import WeakSet

from assay_conformance.client.arrivals import Arrivals
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Position
from assay_conformance.client.handed import Handed, Inbound
from assay_conformance.client.handler import Handler, Phase
from assay_conformance.client.ops import Op, Sent
from assay_conformance.client.permits import Permits
from assay_conformance.client.producer import Producer
from assay_conformance.client.reader import ReadingPlace
from assay_conformance.client.settings import InitialPosition
from assay_conformance.client.shared import MS
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Delivery
from assay_conformance.wire import MessageMetadata, decode, encode, is_batch
from assay_conformance.wire import pulsar_pb2 as pb


class LosesMessagesAfterReconnect(Consumer):
    """After a reconnect every other entry is acknowledged without being delivered."""

    breaks = "delivery.successful-send-is-delivered"
    stands_for = "messages in a queue that a reconnect clears are acknowledged with it"

    def _enqueue(self, inbound: Inbound) -> None:
        if self.registrations > 1 and inbound.entry.position[1] % 2:
            self._acks.individual(inbound.entry, None)
            self._permits.give_back(1)
        else:
            super()._enqueue(inbound)


def blank(op: Op) -> None:
    """Blank a unit made of the application's own buffer: compressed and chunked ones have one of their own."""
    frame = decode(op.frame)
    assert frame.payload is not None
    metadata = frame.payload.metadata
    if not metadata.compression and not metadata.HasField("uuid"):
        op.frame = encode(frame.command, metadata=metadata, data=bytes(len(frame.payload.data)))


class ResendLosesPayload(Producer):
    """A message that is sent again uncompressed and unchunked has lost its payload."""

    breaks = "delivery.no-phantom-messages"
    stands_for = "pulsar-client-go#1394: a buffer goes back to its pool while a send still needs it"

    def _units_to_resend(self) -> list[Op]:
        units = super()._units_to_resend()
        for op in units:
            if op.session is not None:
                blank(op)
        return units


class WrongTopicNameAfterReconnect(Subscription):
    """After a reconnect messages are delivered with the name of a topic that does not exist."""

    breaks = "delivery.no-phantom-messages"
    stands_for = "a topic name read from a connection that was freed"

    def _delivery(self, number: int, inbound: Inbound) -> Delivery:
        delivery = super()._delivery(number, inbound)
        return replace(delivery, topic=f"{delivery.topic}-of-nobody") if inbound.session > 1 else delivery


class SendsRejectedMessage(Producer):
    """A send that fails because the queue is full is sent all the same."""

    breaks = "delivery.failed-send-is-not-stored"
    stands_for = "an error raised after the message was queued"

    def _refuse(self, sent: Sent, why_full: str) -> None:
        super()._refuse(sent, why_full)
        self._number(Sent(None, sent.message, sent.sequence_id))


class DeliversAckedMessageAgain(Consumer):
    """An acknowledged message is put back into the queue and delivered a second time."""

    breaks = "delivery.no-unexplained-duplicates"
    stands_for = "two readers of one queue that do not know of each other"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._copies: dict[Handed, Inbound] = {}

    def handed_over(self, inbound: Inbound) -> Handed:
        handed = super().handed_over(inbound)
        self._copies[handed] = replace(inbound, session=0)
        return handed

    def ack(self, handed: Handed, *, cumulative: bool) -> None:
        if not self.closed and handed in self._copies:
            self._queue.arrived(self._copies[handed])
        super().ack(handed, cumulative=cumulative)


class RedeliveryChangesLastByte(Arrivals):
    """After a redelivery of everything, unbatched messages are delivered with another last byte."""

    breaks = "delivery.payload-unchanged"
    stands_for = "a buffer that is reused while the application still has its content"

    _again = False
    """Everything was to come again."""

    def clear(self) -> None:
        super().clear()
        self._again = True

    def _open(
        self, metadata: MessageMetadata, data: bytes, positions: tuple[Position, ...], body: pb.CommandMessage
    ) -> None:
        if self._again and len(positions) == 1 and not is_batch(metadata):
            data = bytes((*data[:-1], *(byte ^ 0xFF for byte in data[-1:])))
        super()._open(metadata, data, positions, body)


class NoPermitsAfterReconnect(Permits):
    """A consumer that has reconnected grants no permits."""

    breaks = "delivery.resumes-after-fault"
    stands_for = "pulsar-client-go#1128 and others: connected, subscribed, and without messages"

    def registered(self, *, first: bool) -> None:
        if first or self._paused or not self._size:
            super().registered(first=first)
        else:
            self._consumed = 0
            self._asked_one = False


class OperationTimeoutEndsReconnect(Handler):
    """A consumer that waits to reconnect gives up when its opening would have timed out."""

    breaks = "delivery.resumes-after-fault"
    stands_for = "pulsar-client-cpp#438: the timer of the creation cancels that of the reconnect"

    def start(self) -> None:
        self.shared.timers.at(self._deadline_ns, self._stay_away)
        super().start()

    def _stay_away(self) -> None:
        if self.phase is Phase.WAITING:
            self._cancel_retry()


class WaitsForUnreadConsumers(Subscription):
    """Messages of one consumer wait while another consumer of the client has a full queue."""

    breaks = "delivery.reaches-waiting-receive"
    stands_for = (
        "C++ client 3.3 (read in a run): one thread blocks on the queue of a consumer that is not received from"
    )

    _all: ClassVar[WeakSet[Subscription]] = WeakSet()

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._all.add(self)

    def _serve(self) -> None:
        others = (one for one in self._all if one is not self and one._shared is self._shared)
        if not any(len(one._queue) >= max(1, one._settings.receiver_queue_size) for one in others):
            super()._serve()


class ResendsLastChunksOnly(Producer):
    """After a lost connection only the last chunk of a pending chunked message is sent again."""

    breaks = "delivery.successful-send-is-stored"
    stands_for = (
        "Java client 4.2.4, ProducerImpl: only the last chunk's outcome is reported, whatever happened to the others"
    )

    def _units_to_resend(self) -> list[Op]:
        self._pending.take(lambda op: op.part_of is not None and op.session is not None)
        return super()._units_to_resend()


class ReturnForgetsWaitingReceive(Subscription):
    """After a reconnect the first message stays in the queue until the next one comes, although a receive waits."""

    breaks = "delivery.reaches-waiting-receive"
    stands_for = "a waiting receive that is registered with the session that ended"

    _served = 1
    """The registration that something came in last."""

    def arrived(self, inbound: Inbound) -> None:
        if inbound.session > self._served:
            self._served = inbound.session
            self._queue.append(inbound)
        else:
            super().arrived(inbound)


class LatestReaderDiscards(ReadingPlace):
    """A reader that starts at the end of its topic drops new messages."""

    breaks = "delivery.reaches-waiting-receive"
    stands_for = "pulsar-client-go#1364: each message is compared with the id that means the end, and is smaller"

    def passes(self, position: Position, index: int | None) -> bool:
        began = self._last is not None or self._begins is not InitialPosition.LATEST
        return began and super().passes(position, index)


class FullQueueNoticedLate(Subscription):
    """A topic of several that found the shared queue full is put on hold a little later, although it may be empty
    then; only a receive that takes a message out of the queue ends that."""

    breaks = "delivery.reaches-waiting-receive"
    stands_for = "apache/pulsar#11764: between the test for room and the mark the application empties the queue"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._on_hold: set[Consumer] = set()
        self._outside: list[Inbound] = []

    @property
    def _room(self) -> int:
        return max(self._settings.receiver_queue_size, len(self.consumers))

    def arrived(self, inbound: Inbound) -> None:
        if inbound.consumer in self._on_hold:
            self._outside.append(inbound)
            return
        is_full = len(self.consumers) > 1 and len(self._queue) + 1 >= self._room
        super().arrived(inbound)
        if is_full:
            self._shared.after(20 * MS, lambda: self._on_hold.add(inbound.consumer))

    def _next(self) -> Inbound:
        inbound = super()._next()
        if self._on_hold and len(self._queue) <= self._room // 2:
            self._on_hold.clear()
            self._queue.extend(one for one in self._outside if one.session == one.consumer.registrations)
            self._outside.clear()
        return inbound


class FullQueueStaysClosedBehindSeek(Subscription):
    """A consumer of several topics takes nothing in while its queue is full, and a seek that empties it does not open
    it again."""

    breaks = "delivery.reaches-waiting-receive"
    stands_for = "pulsar-client-dotnet#336: a poller of the consumers of each topic, which only a receive resumes"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._is_stopped = False
        self._outside: list[Inbound] = []

    def arrived(self, inbound: Inbound) -> None:
        if self._is_stopped:
            self._outside.append(inbound)
            return
        super().arrived(inbound)
        self._is_stopped = len(self.consumers) > 1 and len(self._queue) >= self._settings.receiver_queue_size > 0

    def _next(self) -> Inbound:
        inbound = super()._next()
        if self._is_stopped and len(self._queue) <= self._settings.receiver_queue_size // 2:
            self._is_stopped = False
            self._queue.extend(self._outside)
            self._outside.clear()
        return inbound

    def withdraw(self, consumer: Consumer) -> int:
        before = len(self._outside)
        self._outside = [one for one in self._outside if one.consumer is not consumer]
        return super().withdraw(consumer) + before - len(self._outside)
