"""The check of `throttling.dispatch-byte-rate-holds`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._histories import BOTH, read_at, throttled_case
from tests.conformance.pulsar.throttling._levels import backlog, seconds, topic_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import MESSAGE_BYTES, Script
from assay_conformance.model.case import Rate
from assay_conformance.pulsar.checks.throttling.dispatch_byte_rate_holds import dispatch_byte_rate_holds

BYTES = throttled_case(dispatch_rate=Rate(bytes=1_000))


def test_bytes_at_the_rate_are_accepted() -> None:
    check = trial(dispatch_byte_rate_holds, read_at((300, 10), (1300, 10), (2300, 10)), BYTES)
    assert (check.findings, check.exercised) == ([], 20)


def test_entry_larger_than_the_byte_rate_may_pass() -> None:
    assert codes_of(trial(dispatch_byte_rate_holds, read_at((300, 1), size=5_000), BYTES)) == []


def test_bytes_beyond_the_rate_are_found() -> None:
    assert codes_of(trial(dispatch_byte_rate_holds, read_at((300, 40)), BYTES)) == ["too-fast"]


def _large_among_small(*, small: int) -> list:  # type: ignore[type-arg]
    """Three entries of 2,500 bytes leave at once; the topic holds others, of `small` bytes."""
    story = Script()
    for number in range(23):
        story.stored(number, size=small if number < 20 else 2_500)
    story.consumer()
    story.at(300)
    for number in range(20, 23):
        story.message(number)
    return story.done()


def test_large_entries_are_read_by_what_the_average_makes_of_the_bytes() -> None:
    assert codes_of(trial(dispatch_byte_rate_holds, _large_among_small(small=64), BYTES)) == []


def test_large_entries_that_no_average_lets_through_together_are_found() -> None:
    assert codes_of(trial(dispatch_byte_rate_holds, _large_among_small(small=1_000), BYTES)) == ["too-fast"]


def test_byte_rate_says_nothing_of_a_topic_with_a_message_rate() -> None:
    assert trial(dispatch_byte_rate_holds, read_at((300, 40)), BOTH).exercised == 0


TEN_OF_BYTES = Rate(bytes=10 * MESSAGE_BYTES)


def test_byte_rate_over_ten_periods_is_held_from_both_sides() -> None:
    check = trial(dispatch_byte_rate_holds, backlog(*seconds(12)).done(), topic_of(dispatch_rate=TEN_OF_BYTES))
    assert codes_of(check) == []


def test_consumer_that_gets_half_its_byte_rate_is_starved() -> None:
    check = trial(dispatch_byte_rate_holds, backlog(*seconds(12, 5)).done(), topic_of(dispatch_rate=TEN_OF_BYTES))
    assert codes_of(check) == ["starved"]


def test_byte_rate_beside_a_message_rate_has_no_floor() -> None:
    both = Rate(messages=5, bytes=10 * MESSAGE_BYTES)
    assert (
        codes_of(trial(dispatch_byte_rate_holds, backlog(*seconds(12, 5)).done(), topic_of(dispatch_rate=both))) == []
    )
