"""Clients that send acknowledgments at other moments, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from assay_conformance.client.acks import AckGroup
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Position
from assay_conformance.client.handed import Handed, Inbound
from assay_conformance.client.handler import Phase
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.seeking import Place
from assay_conformance.client.values import Done, Result
from assay_conformance.wire import BaseCommand, message_id


class ReceiptsOneByOne(AckGroup):
    """An acknowledgment that waits for an answer is sent at once, even after that of a later message."""

    as_in = "Go client, ConsumerOptions: AckGroupingOptions does not apply beside AckWithResponse"
    within = ("ack.call-waits-for-response", "ack.cumulative-keeps-greatest", "ack.grouped-ack-filters-redelivery")

    def _is_due_at_once(self) -> bool:
        return self._awaits_answer or super()._is_due_at_once()

    def _pass_over(self, position: Position, bits: int | None) -> None:
        if self._awaits_answer and self._cumulative is None:
            self._cumulative = (position, bits)
        else:
            super()._pass_over(position, bits)


class _Early(NamedTuple):
    """ACKs sent after a SUBSCRIBE that is not answered yet."""

    individual: dict[Position, int | None]
    cumulative: tuple[Position, int | None] | None


class _EarlyAcks(AckGroup):
    _early = _Early({}, None)

    @property
    def _may_leave(self) -> bool:
        outlet = self._outlet
        is_registering = isinstance(outlet, Consumer) and outlet.phase is Phase.REGISTERING
        return super()._may_leave or (is_registering and not self._awaits_answer)

    def _leave(self) -> None:
        if self._outlet.ready:
            self._early = _Early({}, None)
        else:
            left, cumulative = self._early
            self._early = _Early({**left, **self._individual}, self._cumulative or cumulative)
        super()._leave()

    def turned_away(self) -> None:
        """Keep everything for the next connection: the broker did not have this consumer."""
        left, cumulative = self._early
        self._individual = {**left, **self._individual}
        self._cumulative = self._cumulative or cumulative


class AcksBehindSubscribe(Consumer):
    """On a new connection acknowledgments are sent right after SUBSCRIBE, without waiting for its answer."""

    as_in = (
        "Java client, PersistentAcknowledgmentsGroupingTracker: flush, by the connection that ConsumerImpl sets first"
    )
    within = ("ack.kept-while-disconnected",)
    also = (_EarlyAcks,)

    def _turned_away(self, refusal: Refusal) -> None:
        super()._turned_away(refusal)
        if isinstance(self._acks, _EarlyAcks):
            self._acks.turned_away()


class _AcksOfSeeking(AckGroup):
    @property
    def _may_leave(self) -> bool:
        outlet = self._outlet
        waits = isinstance(outlet, AcksBehindSeek) and outlet.keeps_acks
        return super()._may_leave and (self._awaits_answer or not waits)


class AcksBehindSeek(Consumer):
    """Acknowledgments pending at a seek are sent when the broker has closed the consumer for it, and dropped there."""

    as_in = "Java client, ConsumerImpl: seekAsyncInternal; C++ client, ConsumerImpl: seekAsyncInternal (flushAndClean)"
    within = ("seek.discards-prefetched",)
    also = (_AcksOfSeeking,)

    keeps_acks = False

    def seek(self, place: Place, sought: Callable[[Result], None]) -> None:
        def ended(result: Result) -> None:
            self._send_kept()
            sought(result)

        self.keeps_acks = True
        super().seek(place, ended)

    def closed_by_broker(self, assigned_url: str | None) -> None:
        self._send_kept()
        super().closed_by_broker(assigned_url)

    def _send_kept(self) -> None:
        if self.keeps_acks:
            self.keeps_acks = False
            self._acks.flush()


class NonPersistentNotAcked(Consumer):
    """On a non-persistent topic no acknowledgment is sent, each call ends at once, and the subscription is not durable:
    a consumer that reconnects names its last message."""

    as_in = (
        "Java client, NonPersistentAcknowledgmentGroupingTracker; ConsumerImpl, which is durable on persistent topics"
    )
    within = ("ack-timeout.ended-by-ack", "topics.non-persistent-not-stored", "subscription.non-durable-reader")

    _last: Position | None = None

    @property
    def _stores_nothing(self) -> bool:
        return self.topic.startswith("non-persistent://")

    def handed_over(self, inbound: Inbound) -> Handed:
        self._last = inbound.entry.position
        return super().handed_over(inbound)

    def ack(self, handed: Handed, *, cumulative: bool) -> None:
        if self._stores_nothing:
            handed.entry.unacked &= 0 if handed.index is None else ~(1 << handed.index)
            self._redelivery.acked(handed, cumulative=cumulative)
        else:
            super().ack(handed, cumulative=cumulative)

    def acked(self, ended: Callable[[Result], None], *, cumulative: bool) -> None:
        if self._stores_nothing and not self.closed:
            ended(Done())
        else:
            super().acked(ended, cumulative=cumulative)

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        if self._stores_nothing:
            built.subscribe.durable = False
            if self._last is not None:
                built.subscribe.start_message_id.CopyFrom(message_id(*self._last))
        return built
