"""Refused sends and producers, both ways."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script


def codes_of(check: Check) -> list[str]:
    return [finding.code for finding in check.findings]


class Refused(Script):
    """Two messages are under way, and the first is answered so."""

    def __init__(self, error: str, **fields: object) -> None:
        super().__init__()
        self.producer()
        for number in (0, 1):
            self.send(number)
            self.send_frame(number, **fields)  # type: ignore[arg-type]
        self.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": error})

    def judged(self, check: type[Check]) -> Check:
        return trial(check, self.at(5_000).done())
