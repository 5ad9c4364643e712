"""Robustness checks, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Fired
from assay_conformance.model.facts import ClientFacts

CLIENT = ClientFacts(
    agent="test",
    client="test-client",
    client_version="1",
    capabilities=frozenset(),
    fixed={"receiver_queue_size": 2},
)


class Story(Script):
    """A consumer with a queue of two."""

    def __init__(self) -> None:
        super().__init__()
        self.consumer()
        self.flow(2)

    def damaged(self, number: int, **fields: Any) -> None:
        self.message(number, intact=False, **fields)

    def reported(self, number: int, error: str = "ChecksumMismatch") -> None:
        self.ack_frame(number, fields={"validation_error": error} if error else {})

    def receive(self, asked: int, got: int) -> None:
        invoke = self.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": asked})
        self.complete(invoke, count=got)

    def close_consumer(self) -> None:
        self.invoke("close", CONSUMER, args={"handle": CONSUMER})
        self.up("CLOSE_CONSUMER", consumer_id=0, request_id=99)

    def in_pieces(self, conn: int = 0) -> None:
        self.add(Fired, fault=0, action="resegment", conn=conn)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        said = trial(check, self.done(), facts=CLIENT)
        return [finding.code for finding in said.findings], said.exercised
