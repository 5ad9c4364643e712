"""Refusals with a backoff, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._consuming import Consuming


def refusing(*redeliveries: int) -> Consuming:
    """Entries 0, 1, ..., redelivered so often, with a backoff of 100 ms, four times that, and 1000 ms at most."""
    story = Consuming(nack_backoff_min_ms=100, nack_backoff_multiplier=4, nack_backoff_max_ms=1_000, nack_delay_ms=50)
    for entry, count in enumerate(redeliveries):
        story.message(entry, redelivery_count=count)
        story.received(entry, redelivery_count=count)
    return story
