"""Subscriptions: one consumer, the active one, one at a time, one a key, and where it goes on."""

from __future__ import annotations

import msgspec

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.case import Case
from assay_conformance.model.fault import Cut, CutHow, Direction, Fault, OnFrame

FIRST, SECOND, THIRD = CONSUMER, CONSUMER + 1, CONSUMER + 2


def said(check: type[Check], story: Script, case: Case = ANY_CASE) -> tuple[list[str], int]:
    tried = trial(check, story.done(), case)
    return [finding.code for finding in tried.findings], tried.exercised


def two(kind: str) -> Script:
    """Two consumers, on connections 0 and 1, with permits."""
    story = Script()
    story.consumer(FIRST, conn=0, kind=kind)
    story.consumer(SECOND, conn=1, kind=kind)
    story.flow(100)
    story.flow(100, conn=1)
    return story


HOLE = msgspec.structs.replace(
    ANY_CASE,
    faults=(Fault(trigger=OnFrame(command="PING", direction=Direction.TO_CLIENT), action=Cut(how=CutHow.BLACKHOLE)),),
)
