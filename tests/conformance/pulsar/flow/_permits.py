"""Permits after the first, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.history.script import Script


def taking(count: int, queue: int = 4) -> Script:
    """A consumer with that queue, filled, whose application took the first messages."""
    story = Script()
    story.consumer(receiver_queue_size=queue)
    story.flow(queue)
    for number in range(queue):
        story.message(number)
    for number in range(count):
        story.received(number)
    return story
