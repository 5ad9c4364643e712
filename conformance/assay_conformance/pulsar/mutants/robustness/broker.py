"""Brokers that take what they should ignore."""

from __future__ import annotations

from assay_conformance.broker.producer import Producer
from assay_conformance.broker.session import Session


class StoresForUnknownProducer(Session):
    """A SEND for an unknown producer is stored for another producer of the connection."""

    breaks = "robustness.send-without-producer-not-stored"
    stands_for = "a SEND accepted without looking up its producer id"

    def producer(self, producer_id: int) -> Producer | None:
        return super().producer(producer_id) or next(iter(self.producers.values()), None)
