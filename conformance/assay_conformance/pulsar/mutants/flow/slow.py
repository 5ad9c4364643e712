"""Clients that go on reading while their application is busy."""

from __future__ import annotations

from typing import Final

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.handed import Inbound

NO_SESSION: Final = 0
"""Of a message whose permit was given back: it belongs to no registration, they are counted from 1."""


class GrantsForWhatComes(Consumer):
    """The permit of a message is returned when it arrives, not when the application gets it."""

    breaks = "flow.permits-follow-deliveries"
    stands_for = "apache/pulsar-client-node#316: a handler that puts messages into another queue, and returns"

    def _enqueue(self, inbound: Inbound) -> None:
        self._permits.handed_over(current=True)
        inbound.session = NO_SESSION
        super()._enqueue(inbound)
