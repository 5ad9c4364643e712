"""Topics that change their owner, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Topology


def judged(check: type[Check], story: Script) -> tuple[list[str], int]:
    said = trial(check, story.done(), msgspec.structs.replace(ANY_CASE, topology=Topology()))
    return [finding.code for finding in said.findings], said.exercised
