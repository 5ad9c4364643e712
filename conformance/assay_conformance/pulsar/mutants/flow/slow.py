"""Clients that go on reading while their application is busy."""

from __future__ import annotations

from typing import Final

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.handed import Inbound

NO_SESSION: Final = 0
"""Of a message whose permit was given back: it belongs to no registration, they are counted from 1."""


class GrantsForWhatComes(Consumer):
    """The permit of a message is given back when the message comes, and not when the application gets it."""

    breaks = "flow.permits-follow-deliveries"
    stands_for = "apache/pulsar-client-node#316: a handler that hands over to a queue of its own, and returns"

    def _enqueue(self, inbound: Inbound) -> None:
        self._permits.handed_over(current=True)
        inbound.session = NO_SESSION
        super()._enqueue(inbound)
