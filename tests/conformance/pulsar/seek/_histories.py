"""Seeks, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Frame, Invoke


def reading(*taken: int) -> Script:
    """Five messages have come, and the application took some of them."""
    story = Script()
    for number in range(5):
        story.stored(number)
    story.consumer()
    for number in range(5):
        story.message(number)
    for number in taken:
        story.received(number)
    return story


def asks(story: Script, entry: int | None, publish_time_ms: int | None = None) -> tuple[Invoke, Frame]:
    target = {"publish_time_ms": publish_time_ms} if entry is None else {"message_id": [1, entry, -1, -1, 0]}
    invoke = story.invoke("seek", CONSUMER, args=target)
    return invoke, story.up("SEEK", consumer_id=0, request_id=99)


def sought(story: Script, entry: int | None, publish_time_ms: int | None = None) -> None:
    """A seek after an entry, or to a time, that goes as it should."""
    invoke, _ = asks(story, entry, publish_time_ms)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.down("SUCCESS", request_id=99)
    story.subscribed()
    story.complete(invoke)
