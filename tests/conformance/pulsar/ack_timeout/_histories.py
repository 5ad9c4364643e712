"""The acknowledgment time-out, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._consuming import Consuming

TIMEOUT_MS, TICK_MS = 400, 50


def timed(kind: str = "Shared") -> Consuming:
    return Consuming(kind, ack_timeout_ms=TIMEOUT_MS, ack_timeout_tick_ms=TICK_MS)


def holding(kind: str = "Shared") -> Consuming:
    story = timed(kind)
    story.gets(0)
    return story
