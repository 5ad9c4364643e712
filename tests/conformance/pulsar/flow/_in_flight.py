"""Bounds of pending sends, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from assay_conformance.history.script import MESSAGE_BYTES, Script


def sent(*numbers: int, **config: Any) -> Script:
    """Messages that left, each in a SEND of its own, without a receipt."""
    story = Script()
    story.producer(**config)
    for number in numbers:
        story.send(number)
        story.send_frame(number)
    return story


def succeed(story: Script, *numbers: int) -> None:
    for number in numbers:
        story.receipt(number)
        story.ok(number)


def of_one_client(limit_messages: int, *handles: int, **config: Any) -> Script:
    """Producers of a client with room for so many messages."""
    story = Script()
    limit = limit_messages * MESSAGE_BYTES
    story.complete(story.invoke("open_client", 9, args={"config": {"memory_limit_bytes": limit}}))
    for producer_id, handle in enumerate(handles):
        args = {"topic": "t", "client": 9, "config": {"memory_limit_bytes": limit, **config}}
        opening = story.invoke("open_producer", handle, args=args)
        if producer_id == 0:
            story.connected()
        story.producer_ready(producer_id=producer_id, name=f"p{handle}")
        story.complete(opening, producer_name=f"p{handle}")
    return story
