"""Where producers begin, both ways, on histories of a few lines. Topic `t` has five partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.pulsar._routing import FIVE

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script

MANY = 14


def judged(
    check: type[Check], routing: str, place: Callable[[int], int], producers: int = MANY, lost: int = 0, **named: Any
) -> tuple[list[str], int]:
    """So many producers of `routing` send a message each to `place`; the first of `lost` of them never leaves."""
    story = Script()
    story.connected()
    for number in range(producers):
        handle, partition = 100 + number, place(number)
        config = {"routing": routing, "batching": False}
        opening = story.invoke("open_producer", handle, args={"topic": "t", "config": config})
        story.producer_ready(producer_id=number, topic=f"t-partition-{partition}", name=f"n{number}")
        story.complete(opening)
        if number < lost:
            story.send(0, handle)
        first = int(number < lost)
        story.send(first, handle, **named)
        story.send_frame(first, producer_id=number, handle=handle, sequence_id=first)
    said = trial(check, story.done(), FIVE)
    return [finding.code for finding in said.findings], said.exercised
