"""Clients whose acknowledgments leave at other moments."""

from __future__ import annotations

from typing import NamedTuple

from assay_conformance.client.acks import AckGroup
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Position
from assay_conformance.client.handler import Phase
from assay_conformance.client.refusal import Refusal


class _Early(NamedTuple):
    """What left behind a SUBSCRIBE that is not answered yet."""

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
        """The broker knew no such consumer: keep it all for the next connection."""
        left, cumulative = self._early
        self._individual = {**left, **self._individual}
        self._cumulative = self._cumulative or cumulative


class AcksBehindSubscribe(Consumer):
    """On a new connection acknowledgments leave behind SUBSCRIBE, and do not wait for its answer."""

    as_in = (
        "Java client, PersistentAcknowledgmentsGroupingTracker: flush, by the connection that ConsumerImpl sets first"
    )
    within = ("ack.kept-while-disconnected",)
    also = (_EarlyAcks,)

    def _turned_away(self, refusal: Refusal) -> None:
        super()._turned_away(refusal)
        if isinstance(self._acks, _EarlyAcks):
            self._acks.turned_away()
