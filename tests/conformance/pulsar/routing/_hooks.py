"""Code of the application inside the client, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._routing import Story


def with_one_message_waiting(limit: int = 1) -> Story:
    """Message 0 waits at partition 1, and the next four have their receipts: it is the turn of partition 1."""
    story = Story(routing="round_robin", batching=False, max_pending_messages=limit)
    story.goes(0, 1)
    for number, partition in enumerate((2, 3, 4, 0), 1):
        story.goes(number, partition)
        story.ok(number)
    return story
