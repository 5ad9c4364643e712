"""Refusals with a backoff, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.checks.consuming import Consuming

from assay_conformance.checks.nack import BackoffGrows, RedeliveredInWindow, ShortBehindLong


def _refusing(*redeliveries: int) -> Consuming:
    """Entries 0, 1, ..., redelivered so often, with a backoff of 100 ms, four times that, and 1000 ms at most."""
    story = Consuming(nack_backoff_min_ms=100, nack_backoff_multiplier=4, nack_backoff_max_ms=1_000, nack_delay_ms=50)
    for entry, count in enumerate(redeliveries):
        story.message(entry, redelivery_count=count)
        story.received(entry, redelivery_count=count)
    return story


def test_refusal_waits_as_long_as_its_count_says() -> None:
    story = _refusing(1)
    story.nack(1)
    story.after(400)
    story.redeliver_frame(0)
    assert story.judged(BackoffGrows) == ([], 1)


def test_refusal_that_waits_as_if_it_were_the_first_is_found() -> None:
    story = _refusing(1)
    story.nack(1)
    story.after(100)
    story.redeliver_frame(0)
    assert story.judged(BackoffGrows)[0] == ["too-early"]


@pytest.mark.parametrize(("timeout_ms", "codes"), [(300, []), (0, ["too-early"])])
def test_what_is_asked_for_early_may_be_asked_for_by_the_time_out(timeout_ms: int, codes: list[str]) -> None:
    backoff: dict[str, Any] = {"nack_backoff_min_ms": 100, "nack_backoff_multiplier": 4, "nack_backoff_max_ms": 1_000}
    story = Consuming(**backoff, nack_delay_ms=50, ack_timeout_ms=timeout_ms)
    story.gets(0)
    story.after(300)
    story.nack(1)
    story.redeliver_frame(0)
    assert story.judged(BackoffGrows)[0] == codes


def test_refusal_that_waits_beyond_the_maximum_is_found() -> None:
    story = _refusing(2)
    story.nack(1)
    story.after(1_600)
    story.redeliver_frame(0)
    assert story.judged(BackoffGrows)[0] == ["too-late"]


def test_refusal_that_is_never_asked_for_is_found() -> None:
    story = _refusing(0)
    story.nack(1)
    story.after(1_000)
    assert story.judged(BackoffGrows)[0] == ["too-late"]


def test_refusal_that_is_said_three_times_may_keep_the_time_of_the_first() -> None:
    story = _refusing(0)
    story.nack(1)
    story.nack(1)
    story.after(90)
    story.nack(1)
    story.after(10)
    story.redeliver_frame(0)
    assert story.judged(BackoffGrows)[0] == []


def test_acknowledgment_ends_a_refusal() -> None:
    story = _refusing(0)
    story.nack(1)
    story.ack(1)
    story.after(1_000)
    assert story.judged(BackoffGrows) == ([], 0)


def test_refusal_of_what_came_on_a_lost_session_is_not_asked_for() -> None:
    story = _refusing(0)
    story.cut()
    story.nack(1)
    story.again()
    story.after(1_000)
    assert story.judged(BackoffGrows) == ([], 0)


def _refused_once_more_on_another_session(story: Consuming) -> list[str]:
    story.message(0, conn=1)
    story.received(0)
    story.after(40)
    story.nack(2)
    story.after(60)
    story.redeliver_frame(0, conn=1)
    return story.judged(BackoffGrows)[0]


def test_refusal_that_was_said_without_a_session_may_keep_its_time() -> None:
    story = _refusing(0)
    story.cut()
    story.nack(1)
    story.again()
    assert _refused_once_more_on_another_session(story) == []


def test_refusal_that_outlived_its_session_may_keep_its_time() -> None:
    story = _refusing(0)
    story.nack(1)
    story.cut()
    story.again()
    assert _refused_once_more_on_another_session(story) == []


def test_backoff_takes_the_place_of_the_fixed_delay() -> None:
    story = _refusing(1)
    story.nack(1)
    story.after(400)
    story.redeliver_frame(0)
    assert story.judged(RedeliveredInWindow) == ([], 0)


def test_short_refusal_comes_ahead_of_a_longer_one() -> None:
    story = _refusing(2, 0)
    story.nack(1)
    story.nack(2)
    story.after(110)
    story.redeliver_frame(1)
    assert story.judged(ShortBehindLong) == ([], 1)


def test_short_refusal_that_waits_for_a_longer_one_is_found() -> None:
    story = _refusing(2, 0)
    story.nack(1)
    story.nack(2)
    story.after(1_000)
    story.redeliver_frame(0, 1)
    assert story.judged(ShortBehindLong)[0] == ["waits-for-longer"]


def test_short_refusal_that_waits_is_blamed_once() -> None:
    story = _refusing(2, 0)
    story.nack(1)
    story.nack(2)
    story.after(1_000)
    story.redeliver_frame(0, 1)
    assert story.judged(BackoffGrows)[0] == []
