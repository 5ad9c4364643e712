"""One command a flush, and time-outs as they are configured, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._consuming import Consuming


def held(timeout_ms: int, tick_ms: int, asked_after_ms: int) -> Consuming:
    story = Consuming(ack_timeout_ms=timeout_ms, ack_timeout_tick_ms=tick_ms)
    story.gets(0)
    story.after(asked_after_ms)
    story.redeliver_frame(0)
    return story
