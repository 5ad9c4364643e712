"""Clients that request redelivery of nacked messages at other times, or name them in another way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from assay_conformance.client.handed import Handed
from assay_conformance.client.redelivery import Redelivery
from assay_conformance.client.shared import MS
from assay_conformance.wire import message_id
from assay_conformance.wire import pulsar_pb2 as pb

PRECISION_MS = 256
APART_MS = 5


class CoarseNackClock(Redelivery[Handed]):
    """Redelivery times are rounded by their lower eight bits, and no option changes that."""

    as_in = "Go client, negative_acks_tracker: NackPrecisionBit; the default of Java clients since 4.1"
    within = (
        "nack.redelivery-requested-in-time",
        "nack.minimum-delay",
        "nack.acked-not-redelivered",
        "nack.ends-ack-timeout",
        "nack.backoff-grows",
    )
    fixes: ClassVar = {"nack_precision_ms": PRECISION_MS}

    def _nack_due_ns(self, redelivery_count: int) -> int:
        return super()._nack_due_ns(redelivery_count) - (PRECISION_MS - 1) * MS


class NacksLookedAtByTicks(Redelivery[Handed]):
    """Nacked messages are checked three times in a delay, so that a request is sent up to a third of it late."""

    as_in = "Java, C++ and Go clients: the tick of the tracker of negative acknowledgments"
    within = (
        "nack.redelivery-requested-in-time",
        "nack.minimum-delay",
        "nack.later-nacks-do-not-postpone",
        "nack.short-delay-not-behind-long",
        "nack.backoff-grows",
        "nack.requests-merged",
    )
    fixes: ClassVar = {"nack_tick_fraction": 0.334}

    def _nack_due_ns(self, redelivery_count: int) -> int:
        return super()._nack_due_ns(redelivery_count) + self._nack_delay_ns(redelivery_count) // 3


class MembersAskedForApart(Redelivery[Handed]):
    """The nacked messages of a batch are due separately, and their entry is requested for each of them."""

    as_in = "Java client, NegativeAcksTracker: a batch whose messages are refused across one of its ticks is due twice"
    within = ("dead-letter.acked-stays-out", "dead-letter.max-redeliver-count", "nack.requests-whole-batch")

    def nack(self, message: Handed) -> None:
        place = message.index or 0
        self._stop_holding(message)
        due_ns = self._nack_due_ns(message.redelivery_count) + place * APART_MS * MS
        self._nacks.add((*message.entry.position, place), due_ns, message)


class RequestsByBatchIndex(Redelivery[Any]):
    """A redelivery request names messages inside their batch. Brokers read only ledger and entry of the id."""

    as_in = "pulsar-rs, consumer: nack; of brokers, Consumer: redeliverUnacknowledgedMessages"
    within = ("nack.requests-whole-batch", "nack.request-names-messages", "ack-timeout.ended-by-ack")

    def _named(self, message: Any, *, nacked: bool) -> Iterator[pb.MessageIdData]:
        if message.index is None:
            yield from super()._named(message, nacked=nacked)
        else:
            ledger, entry = message.entry.position
            yield message_id(ledger, entry, batch_index=message.index)
