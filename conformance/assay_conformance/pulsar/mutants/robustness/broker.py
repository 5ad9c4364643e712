"""Brokers that take what they should ignore."""

from __future__ import annotations

from assay_conformance.broker.producer import Producer
from assay_conformance.broker.session import Session


class StoresForUnknownProducer(Session):
    """A SEND for a producer that is not there is taken for another one's of its connection."""

    breaks = "robustness.send-without-producer-not-stored"
    stands_for = "a SEND taken by its connection, with its producer id not looked up"

    def producer(self, producer_id: int) -> Producer | None:
        return super().producer(producer_id) or next(iter(self.producers.values()), None)
