"""What a consumer that takes over has to receive first."""

from __future__ import annotations

from assay_conformance.model.event import Event
from assay_conformance.pulsar.timeline import Delivery, Subscription


class HandOver:
    """The entries that were delivered and unacknowledged when a consumer took over: they come first, in order."""

    def __init__(self, subscription: Subscription, at: Event) -> None:
        self._subscription = subscription
        self._waiting = subscription.unacked(at)
        self._first = next(self._waiting, None)

    def is_due(self, at: Event) -> bool:
        """Return whether any of them is still to be delivered."""
        while self._first is not None and not self._subscription.is_unacked(self._first, at):
            self._first = next(self._waiting, None)
        return self._first is not None

    def passed_over(self, delivery: Delivery) -> Delivery | None:
        """Take an entry that is sent. Return the one that had to be sent before it, as it was sent last, or None."""
        first = self._first if self.is_due(delivery.frame) else None
        if first is None or delivery.position < first.position:
            return None
        if first.position == delivery.position:
            self._first = next(self._waiting, None)
            return None
        return first
