"""Producers that are refused when they come back, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import Fate, Frame, Sides


class Refused(Script):
    """A message is under way when the connection dies, and the producer that comes back is refused. `torn`: another one
    had a receipt there ahead of one that a fault keeps."""

    def __init__(self, error: str = "ProducerBusy", *, torn: bool = False) -> None:
        super().__init__()
        self.producer()
        self.asked = self.send(0)
        self.send_frame(0)
        self.cut()
        self.connected(1)
        if torn:
            self.receipt(0, conn=1, producer_id=7, fate=Fate.HELD, sides=Sides.SENDER)
            self.receipt(1, conn=1, producer_id=7)
        self.refuse(error)

    def refuse(self, error: str = "ProducerBusy") -> Frame:
        asked = self.producer_asks(1)
        return self.down("ERROR", 1, request_id=asked.request_id, fields={"error": error})

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        said = trial(check, self.done())
        return [finding.code for finding in said.findings], said.exercised
