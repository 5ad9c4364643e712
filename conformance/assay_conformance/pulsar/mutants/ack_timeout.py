"""Clients that ask for unacknowledged messages at the wrong time, or in the wrong way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Position
from assay_conformance.client.handed import Handed, Inbound
from assay_conformance.client.redelivery import Redelivery
from assay_conformance.client.settings import ConsumerSettings
from assay_conformance.client.shared import MS
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.unacked import TickWheel
from assay_conformance.client.validation import Validation
from assay_conformance.pulsar.mutants._late import late_ns
from assay_conformance.wire import message_id
from assay_conformance.wire import pulsar_pb2 as pb


class AckTimeoutLate(Redelivery[Any]):
    """Redelivery of messages held beyond the acknowledgment time-out is requested late."""

    breaks = "ack-timeout.redelivery-requested-in-time"
    stands_for = "a timer that ticks coarsely"
    lateness_ms = 300

    def _timeout_ms(self) -> int:
        return super()._timeout_ms() + late_ns(self._shared, AckTimeoutLate) // MS


class HoldsAgainBehindHandler(Subscription):
    """The acknowledgment time-out of a message of a several-topics consumer restarts when its handler returns,
    acknowledged or not."""

    breaks = "ack-timeout.ended-by-ack"
    stands_for = "pulsar-client-cpp#423: a consumer of several topics counted a message after its handler"

    def handler_returned(self, *, raised: bool) -> None:
        if self._settings.ack_timeout_ms and len(self.consumers) > 1 and not self._closed:
            handed = self._handed[-1]
            handed.consumer._redelivery.hand_over(handed)
        super().handler_returned(raised=raised)


class AckTimeoutEarly(Redelivery[Any]):
    """Redelivery of held messages is requested after half of the acknowledgment time-out."""

    breaks = "ack-timeout.redelivery-requested-in-time"
    stands_for = "time-out buckets that pass at another rate than they are counted by"

    def _timeout_ms(self) -> int:
        return super()._timeout_ms() // 2


class TimesOutPrefetched(Consumer):
    """The acknowledgment time-out runs from a message's arrival, not from its delivery."""

    breaks = "ack-timeout.not-for-prefetched"
    stands_for = "a slow application loses messages to others that it never received"

    def _enqueue(self, inbound: Inbound) -> None:
        held = Handed(self, inbound.entry, inbound.opened.index, inbound.redelivery_count)
        self._redelivery.hand_over(held)
        super()._enqueue(inbound)


class TimesOutBeforeHandler(Consumer):
    """The time-out of messages of several topics runs while they wait for their handler."""

    breaks = "ack-timeout.not-for-prefetched"
    stands_for = "apache/pulsar#17503: a message is tracked when its handler is queued, and not when it is called"

    def _enqueue(self, inbound: Inbound) -> None:
        queue = self._queue
        if isinstance(queue, Subscription) and len(queue.consumers) > 1 and queue._listening is not None:
            self._redelivery.hand_over(Handed(self, inbound.entry, inbound.opened.index, inbound.redelivery_count))
        super()._enqueue(inbound)


class AckKeepsAckTimeout(Redelivery[Any]):
    """An acknowledgment does not stop the acknowledgment time-out."""

    breaks = "ack-timeout.ended-by-ack"
    stands_for = "pulsar-rs (read in its source): a cumulative one clears nothing"

    def acked(self, message: Any, *, cumulative: bool) -> None:
        pass


class CumulativeAckKeepsTimeoutOfSeveral(Redelivery[Any]):
    """A cumulative acknowledgment on a consumer of several topics does not stop the acknowledgment time-out."""

    breaks = "ack-timeout.ended-by-ack"
    stands_for = "apache/pulsar#18407: it is passed on to the topic's consumer, and the time-outs are kept by its owner"

    def acked(self, message: Any, *, cumulative: bool) -> None:
        if not (cumulative and _is_of_several(message)):
            super().acked(message, cumulative=cumulative)


class CumulativeAckStopsAllTimeouts(Redelivery[Any]):
    """A cumulative acknowledgment on a consumer of several topics stops the time-outs of all of them."""

    breaks = "ack-timeout.redelivery-requested-in-time"
    stands_for = "ids of all topics in one tracker, compared without their topics"

    def acked(self, message: Any, *, cumulative: bool) -> None:
        super().acked(message, cumulative=cumulative)
        if cumulative and _is_of_several(message):
            for consumer in message.consumer._queue.consumers:
                consumer._redelivery._held.clear()


class AckTimeoutEndsWithConnection(TickWheel[Any]):
    """After a connection was lost while messages were held, no acknowledgment time-out is counted any more."""

    breaks = "ack-timeout.redelivery-requested-in-time"
    stands_for = "apache/pulsar#16337: a request that fails raises in the timer's task, which is not scheduled again"

    _is_dead = False

    def clear(self) -> None:
        self._is_dead = self._is_dead or any(self._buckets)
        super().clear()

    def add(self, position: Position, kept: Any) -> None:
        if not self._is_dead:
            super().add(position, kept)


def _is_of_several(message: Any) -> bool:
    return len(message.consumer._queue.consumers) > 1


class AckTimeoutOfLastChunkOnly(Redelivery[Any]):
    """After the acknowledgment time-out of a chunked message, redelivery of only its last chunk is requested."""

    breaks = "ack-timeout.ended-by-ack"
    stands_for = "a chunked message known by one id: the other chunks are never redelivered"

    def _named(self, message: Any, *, nacked: bool) -> Iterator[pb.MessageIdData]:
        if nacked:
            yield from super()._named(message, nacked=nacked)
        else:
            yield message_id(*message.entry.position)


class AckTimeoutRedeliversAll(Redelivery[Any]):
    """On a shared subscription the acknowledgment time-out requests redelivery of everything."""

    breaks = "ack-timeout.request-fits-subscription-type"
    stands_for = "one request for every subscription type: messages still being processed are redelivered"

    @property
    def _times_out_one_by_one(self) -> bool:
        return False


class AckTimeoutAlwaysNamesMessages(Redelivery[Any]):
    """On an exclusive subscription the acknowledgment time-out requests redelivery by message ids."""

    breaks = "ack-timeout.request-fits-subscription-type"
    stands_for = "pulsar-rs (read in its source): message ids for every subscription type"

    @property
    def _times_out_one_by_one(self) -> bool:
        return True


class AcceptsAnyAckTimeout(Validation):
    """Any acknowledgment time-out is accepted, however short."""

    breaks = "ack-timeout.minimum-enforced"
    stands_for = "a documented minimum that is never checked"

    def _times_out_too_soon(self, settings: ConsumerSettings) -> bool:
        return False


class TickLongerThanTimeout(TickWheel[Any]):
    """A tick longer than the acknowledgment time-out is used as it is."""

    breaks = "ack-timeout.tick-within-timeout"
    stands_for = "ticks of a second for a time-out of half a second"

    def _tick_ms(self, timeout_ms: int, tick_ms: int) -> int:
        return tick_ms


class TicksRoundedDown(TickWheel[Any]):
    """The number of ticks in an acknowledgment time-out is rounded down."""

    breaks = "ack-timeout.tick-within-timeout"
    stands_for = "an integer division: the last part of the time-out is lost"

    def _ticks(self, timeout_ns: int) -> int:
        return timeout_ns // self._tick_ns
