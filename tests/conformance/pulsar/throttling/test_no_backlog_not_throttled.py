"""The check of `throttling.no-backlog-not-throttled`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._levels import TEN, backlog, seconds, topic_of

from assay_conformance.checks.trial import trial
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.checks.throttling.no_backlog_not_throttled import no_backlog_not_throttled

SPARED = topic_of(BrokerSettings(throttles_caught_up=False), dispatch_rate=TEN)


def test_short_backlog_that_leaves_at_once_is_accepted() -> None:
    check = trial(no_backlog_not_throttled, backlog((500, 60), stored=60).done(), SPARED)
    assert (codes_of(check), check.exercised) == ([], 50)


def test_short_backlog_that_is_throttled_is_found() -> None:
    assert codes_of(trial(no_backlog_not_throttled, backlog(*seconds(6), stored=60).done(), SPARED)) == ["throttled"]


def test_long_backlog_that_is_throttled_is_accepted() -> None:
    check = trial(no_backlog_not_throttled, backlog(*seconds(6), stored=1_100).done(), SPARED)
    assert (codes_of(check), check.exercised) == ([], 50)


def test_long_backlog_that_is_spared_is_found() -> None:
    assert codes_of(trial(no_backlog_not_throttled, backlog((2_000, 90), stored=1_100).done(), SPARED)) == ["too-fast"]
