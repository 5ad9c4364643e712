"""The check of `throttling.redelivery-is-charged`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._histories import DISPATCH, read_at

from assay_conformance.checks.trial import trial
from assay_conformance.pulsar.checks.throttling.redelivery_is_charged import redelivery_is_charged


def test_redelivered_messages_within_the_rate_are_accepted() -> None:
    check = trial(redelivery_is_charged, read_at((300, 10), (1300, 10), again=True), DISPATCH)
    assert (check.findings, check.exercised) == ([], 10)


def test_redelivered_messages_beyond_the_rate_are_found() -> None:
    events = read_at(*((300 + 20 * round, 10) for round in range(6)), again=True)
    assert codes_of(trial(redelivery_is_charged, events, DISPATCH)) == ["too-fast"]


def test_new_messages_beyond_the_rate_are_no_matter_of_redelivery() -> None:
    assert trial(redelivery_is_charged, read_at((300, 60)), DISPATCH).exercised == 0
