"""The check of `throttling.batch-counts-once`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._levels import TEN, backlog, seconds, topic_of

from assay_conformance.checks.trial import trial
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.checks.throttling.batch_counts_once import batch_counts_once

BY_ENTRIES = topic_of(BrokerSettings(rate_counts_entries=True), dispatch_rate=TEN)


def test_entries_that_count_once_are_accepted() -> None:
    check = trial(batch_counts_once, backlog(*seconds(5), members=6).done(), BY_ENTRIES)
    assert (codes_of(check), check.exercised) == ([], 1)


def test_entries_that_count_as_their_messages_are_found() -> None:
    assert codes_of(trial(batch_counts_once, backlog((500, 10), members=6, end_ms=5_400).done(), BY_ENTRIES)) == [
        "starved"
    ]
