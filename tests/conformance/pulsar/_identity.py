"""What tells things apart, both ways: ids of requests, names from the broker, the one id of a cumulative ACK."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script


def judged(story: Script, check: type[Check]) -> tuple[list[str], int]:
    said = trial(check, story.done())
    return [finding.code for finding in said.findings], said.exercised
