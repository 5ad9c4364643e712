"""The check of `ack-timeout.minimum-enforced`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.checks.ack_timeout.minimum_enforced import minimum_enforced


def _opening(timeout_ms: int, outcome: Outcome) -> Consuming:
    story = Consuming(ack_timeout_ms=timeout_ms, ack_timeout_min_ms=1_000)
    story.complete(story.invoke("open_consumer", CONSUMER + 1, args={"topics": ["t"]}), outcome)
    return story


def test_too_short_a_time_out_is_refused() -> None:
    story = _opening(500, Outcome.FAIL)
    assert story.judged(minimum_enforced)[1] == 1


def test_too_short_a_time_out_that_is_taken_is_found() -> None:
    assert _opening(500, Outcome.OK).judged(minimum_enforced)[0][-1] == "taken"


def test_long_enough_a_time_out_is_taken() -> None:
    assert _opening(1_000, Outcome.OK).judged(minimum_enforced) == ([], 0)
