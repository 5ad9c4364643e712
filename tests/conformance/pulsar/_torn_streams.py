"""Faults that no network has: a frame lost, moved or repeated inside a stream that goes on. Nobody is to blame."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script


def codes_found(check: type[Check], story: Script) -> list[str]:
    return [finding.code for finding in trial(check, story.done()).findings]


def sent(count: int = 3) -> Script:
    story = Script()
    story.producer()
    for number in range(count):
        story.send(number)
    return story
