"""Clients that poll for messages."""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.client.handed import Inbound
from assay_conformance.client.shared import MS
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.timers import Timer

PERIOD_MS = 1_000


class LooksOncePerPeriod(Subscription):
    """Messages that arrive at an empty queue are noticed by a poll once a second."""

    as_in = "pulsar-flex, consumer/index.js: run, which waits for a second when its queue is empty"
    within = (
        "flow.dropped-message-returns-permit",
        "robustness.edge-case-payloads-round-trip",
        "seek.starts-at-target",
    )
    fixes: ClassVar = {"receive_poll_ms": PERIOD_MS}
    _look: Timer | None = None

    def arrived(self, inbound: Inbound) -> None:
        self._queue.append(inbound)
        if self._look is None or not self._look.live:
            self._look = self._shared.after(PERIOD_MS * MS, self._serve)
