"""Code of the application inside the client, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._routing import Story

from assay_conformance.history.script import PRODUCER
from assay_conformance.model.event import Note


class Hooked(Story):
    def routes(self, number: int, answer: int, partitions: int = 5) -> None:
        values = {"number": number, "partitions": partitions, "answer": answer}
        self.add(Note, text="router", handle=PRODUCER, values=values)

    def tells(self, number: int, *texts: str) -> None:
        for text in texts:
            self.add(Note, text=text, handle=PRODUCER, values={"number": number})
