"""The check of `routing.partition-switch-frequency-minimum`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.routing._partitions import FIVE

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.routing.partition_switch_frequency_minimum import (
    partition_switch_frequency_minimum,
)


@pytest.mark.parametrize(
    ("outcome", "error", "codes", "exercised"),
    [(Outcome.FAIL, ErrorClass.INVALID_CONFIG, [], 1), (Outcome.OK, None, ["taken"], 0)],
)
def test_no_window_is_to_be_refused(
    outcome: Outcome, error: ErrorClass | None, codes: list[str], exercised: int
) -> None:
    story = Script()
    config = {"batching_partition_switch_frequency": 0}
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t", "config": config})
    story.complete(opening, outcome, error=error)
    said = trial(partition_switch_frequency_minimum, story.done(), FIVE)
    assert ([finding.code for finding in said.findings], said.exercised) == (codes, exercised)
