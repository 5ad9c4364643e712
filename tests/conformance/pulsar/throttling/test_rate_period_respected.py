"""The check of `throttling.rate-period-respected`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._levels import backlog, seconds, topic_of

from assay_conformance.checks.trial import trial
from assay_conformance.model.case import Rate
from assay_conformance.pulsar.checks.throttling.rate_period_respected import rate_period_respected

THREE_SECONDS = topic_of(dispatch_rate=Rate(messages=10, period_s=3))


def test_longer_period_is_accepted() -> None:
    check = trial(rate_period_respected, backlog((500, 10), (2_500, 10), (5_500, 10)).done(), THREE_SECONDS)
    assert (codes_of(check), check.exercised) == ([], 20)


def test_longer_period_taken_for_a_second_is_found() -> None:
    assert codes_of(trial(rate_period_respected, backlog(*seconds(4)).done(), THREE_SECONDS)) == ["too-fast"]
