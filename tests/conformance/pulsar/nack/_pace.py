"""How refusals are paced, what they bring back on exclusive subscriptions, and what ends them."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar._consuming import Consuming


def refused(delay_ms: int = 300, kind: str = "Shared", **constants: Any) -> Consuming:
    """Message 0 of five is refused."""
    story = Consuming(kind, nack_delay_ms=delay_ms, **constants)
    story.gets(0, 1, 2, 3, 4)
    story.nack(1)
    return story
