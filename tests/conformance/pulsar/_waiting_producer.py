"""Waiting for a topic, coming back to it, and being told that it is another one's, or gone."""

from __future__ import annotations

from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import Outcome


class Refused(Script):
    """A producer with one send pending is refused when it comes back."""

    def __init__(self, error: str, *, withdrawn: bool = False, topic: str = "t") -> None:
        super().__init__()
        self.producer(topic=topic)
        self.send(0)
        self.send_frame(0)
        self.after(30).cut()
        self.connected(1)
        asked = self.producer_asks(1, topic=topic)
        if withdrawn:
            self.up("CLOSE_PRODUCER", 1, producer_id=0, request_id=77)
        self.down("ERROR", 1, request_id=asked.request_id, fields={"error": error})


def opened(error: str, *asked_ms: int, ended_ms: int = 5_000, lost: bool = False) -> Script:
    """A producer that is opened is refused whenever it asks."""
    story = Script()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected()
    for number, ms in enumerate(asked_ms):
        conn = number if lost else 0
        if conn:
            story.connected(conn)
        asked = story.at(ms).producer_asks(conn)
        story.down("ERROR", conn, request_id=asked.request_id, fields={"error": error})
        if lost:
            story.cut(conn)
    story.at(ended_ms).complete(opening, Outcome.FAIL)
    return story.at(6_000)
