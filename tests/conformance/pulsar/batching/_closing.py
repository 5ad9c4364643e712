"""Why batches leave, and what they save: good and bad histories by hand."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import MESSAGE_BYTES, NAME, Script
from assay_conformance.model.event import Event

LIMITS: dict[str, Any] = {
    "batching": True,
    "batching_max_messages": 4,
    "batching_max_bytes": 10_000,
    "batching_max_publish_delay_ms": 200,
}


def told(check: type[Check], events: list[Event]) -> tuple[list[str], int]:
    tried = trial(check, events)
    return [finding.code for finding in tried.findings], tried.exercised


def asks(story: Script, *numbers: int, every_ms: float = 1) -> None:
    for number in numbers:
        story.send(number)
        story.after(every_ms)


def two_producers(
    large_bytes: int,
    *,
    apart_ms: float = 1,
    large_batch: int = 10,
    delay_ms: int = 200,
    limit: int = 2,
    last_bytes: int = MESSAGE_BYTES,
) -> list[Event]:
    """Ten messages each: producer 1 in batches of two, producer 2 in larger ones of so many bytes. `last_bytes`: of the
    last message of each."""
    story = Script()
    small = {**LIMITS, "batching_max_messages": limit, "batching_max_publish_delay_ms": 1}
    large = {**LIMITS, "batching_max_messages": 10, "batching_max_publish_delay_ms": delay_ms}
    story.producer(1, **small)
    story.producer(2, producer_id=1, name="other", **large)
    for handle, size in ((1, 2), (2, large_batch)):
        for first in range(0, 10, size):
            for number in range(first, first + size):
                story.send(number, handle, size=last_bytes if number == 9 else MESSAGE_BYTES)
            frame_bytes = large_bytes if handle == 2 else 2 * MESSAGE_BYTES
            name = "other" if handle == 2 else NAME
            numbers = range(first, first + size)
            story.send_frame(*numbers, handle=handle, producer_id=handle - 1, name=name, batch=True, size=frame_bytes)
            story.after(apart_ms)
        for number in range(10):
            story.ok(number, handle)
    return story.done()
