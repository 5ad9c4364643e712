"""Acks inside batches: the bits of an ack_set, what it filters, and cumulative acks that stop inside."""

from __future__ import annotations

from tests.conformance.pulsar._consuming import Consuming


def by_index() -> Consuming:
    story = Consuming(batch_index_ack=True)
    story.gets_batch(0, 4)
    return story
