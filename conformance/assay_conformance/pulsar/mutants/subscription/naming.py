"""Clients that take a list of topics as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.settings import ConsumerSettings
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Result


class SubscribesTwice(Subscription):
    """A consumer of several topics subscribes to the first of them twice."""

    breaks = "subscription.topic-named-twice"
    stands_for = "Python client 3.8 (seen in a run): a topic named twice is subscribed to twice"

    def _new(
        self, parts: Sequence[tuple[str, int]], settings: ConsumerSettings, opened: Callable[[Result], None]
    ) -> list[Consumer]:
        return super()._new([*parts, *parts[:1]] if len(self._topics) > 1 else parts, settings, opened)
