"""The check of `throttling.repays-overshoot`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._histories import DISPATCH, dispatched

from assay_conformance.checks.trial import trial
from assay_conformance.pulsar.checks.throttling.repays_overshoot import repays_overshoot


def test_overshoot_that_is_repaid_is_accepted() -> None:
    check = trial(repays_overshoot, dispatched((100, 1), (3100, 1), batch=30), DISPATCH)
    assert (check.findings, check.exercised) == ([], 1)


def test_overshoot_repaid_from_the_earliest_period_on_is_accepted() -> None:
    assert codes_of(trial(repays_overshoot, dispatched((100, 1), (2110, 1), batch=30), DISPATCH)) == []


def test_what_flowed_in_before_a_read_and_was_added_after_it_pays_too() -> None:
    """A bucket that was made 0.9 periods before the read holds 16 tokens more when it is asked 0.75 periods later."""
    assert codes_of(trial(repays_overshoot, dispatched((100, 1), (850, 1), batch=25), DISPATCH)) == []


def test_overshoot_that_is_forgiven_is_found() -> None:
    assert codes_of(trial(repays_overshoot, dispatched((100, 1), (1100, 1), batch=40), DISPATCH)) == ["not-repaid"]


def test_reads_within_the_rate_repay_nothing() -> None:
    check = trial(repays_overshoot, dispatched(*((100 * n, 1) for n in range(1, 9))), DISPATCH)
    assert (check.findings, check.exercised) == ([], 0)
