"""Odd messages, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.facts import ClientFacts
from assay_conformance.pulsar.checks.robustness.edge_case_payloads_round_trip import edge_case_payloads_round_trip


def judged(
    story: Script, by: type[Check] = edge_case_payloads_round_trip, facts: ClientFacts | None = None
) -> tuple[list[str], int]:
    said = trial(by, story.done(), facts=facts)
    return [finding.code for finding in said.findings], said.exercised


def sent(**args: Any) -> Script:
    story = Script()
    story.producer()
    story.consumer(conn=1)
    story.send(0, **args)
    return story


def carried(story: Script, **fields: Any) -> None:
    """The message is stored and comes to the consumer."""
    story.stored(0, **fields)
    story.message(0, conn=1, **fields)
