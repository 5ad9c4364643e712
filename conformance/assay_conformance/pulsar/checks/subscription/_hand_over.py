"""What a consumer that takes over has to receive first."""

from __future__ import annotations

from collections import deque

from assay_conformance.model.event import Event
from assay_conformance.pulsar.timeline import Delivery, Subscription


class HandOver:
    """The entries that were delivered and unacknowledged when a consumer took over: they come first, in order."""

    def __init__(self, subscription: Subscription, at: Event) -> None:
        self._subscription = subscription
        self._last = dict(subscription.unacked(at))
        self._waiting = deque(sorted(self._last))

    def is_due(self, at: Event) -> bool:
        """Whether any of them is still to be delivered."""
        while self._waiting and not self._subscription.is_unacked(self._last[self._waiting[0]], at):
            self._waiting.popleft()
        return bool(self._waiting)

    def passed_over(self, delivery: Delivery) -> Delivery | None:
        """Take an entry that is sent. Return the one that had to be sent before it, as it was sent last, or None."""
        if not self.is_due(delivery.frame) or delivery.position < self._waiting[0]:
            return None
        first = self._last[self._waiting[0]]
        return None if first.position == delivery.position and self._waiting.popleft() else first
