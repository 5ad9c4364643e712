"""The timeline's relations about rates: limiters, and what could have been dispatched to subscriptions."""

from __future__ import annotations

from functools import cached_property

from assay_conformance.pulsar.timeline.connecting import Connecting
from assay_conformance.pulsar.timeline.limiters import Limiter, limiters
from assay_conformance.pulsar.timeline.supplies import Supply, supplies


class Limiting(Connecting):
    """The part of a timeline that is about rates of dispatch."""

    @cached_property
    def limiters(self) -> list[Limiter]:
        """Every rate limiter of which the Case leaves the rate as it is."""
        return limiters(self.view, self.events, self.consumer_sessions)

    @cached_property
    def supplies(self) -> dict[tuple[str, str], Supply]:
        """Topic and subscription -> what it could be sent."""
        return supplies(self.view, self.events, self.consumer_sessions, self.broker_account)
