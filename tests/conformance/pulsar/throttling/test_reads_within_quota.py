"""The check of `throttling.reads-within-quota`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._histories import DISPATCH, read_at

from assay_conformance.checks.trial import trial
from assay_conformance.pulsar.checks.throttling.reads_within_quota import reads_within_quota


def test_reads_of_the_tokens_left_are_accepted() -> None:
    check = trial(reads_within_quota, read_at((300, 10), (1300, 10)), DISPATCH)
    assert (check.findings, check.exercised) == ([], 2)


def test_read_of_everything_there_are_permits_for_is_found() -> None:
    assert codes_of(trial(reads_within_quota, read_at((300, 60)), DISPATCH)) == ["read-too-large"]
