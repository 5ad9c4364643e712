"""Openings that meet a failure, both ways."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Invoke
from assay_conformance.pulsar.checks.connection.retries_service_not_ready import retries_service_not_ready


class Opening(Script):
    def __init__(self) -> None:
        super().__init__()
        self.asked: Invoke = self.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})

    def asks(self, request: int = 7, conn: int = 0, topic: str = "t") -> None:
        fields = {"topic": self.full(topic), "subscription": "s"}
        self.up("SUBSCRIBE", conn, consumer_id=0, request_id=request, fields=fields)

    def is_not_ready(self, request: int = 7) -> None:
        self.is_refused(request, "ServiceNotReady")

    def is_refused(self, request: int = 7, error: str = "TooManyRequests") -> None:
        self.down("ERROR", request_id=request, fields={"error": error})

    def judged(self, by: type[Check] = retries_service_not_ready) -> tuple[list[str], int]:
        check = trial(by, self.done())
        return [finding.code for finding in check.findings], check.exercised


def asking() -> Opening:
    """It has a connection, and has sent its SUBSCRIBE."""
    story = Opening()
    story.connected()
    story.asks()
    return story


def not_ready() -> Opening:
    """The broker was not ready for its first SUBSCRIBE."""
    story = asking()
    story.is_not_ready()
    return story
