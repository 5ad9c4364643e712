"""The check of `nack.backoff-grows`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._consuming import Consuming
from tests.conformance.pulsar.nack._backoff import refusing

from assay_conformance.pulsar.checks.nack.backoff_grows import backoff_grows


def test_refusal_waits_as_long_as_its_count_says() -> None:
    story = refusing(1)
    story.nack(1)
    story.after(400)
    story.redeliver_frame(0)
    assert story.judged(backoff_grows) == ([], 1)


def test_refusal_of_a_batch_may_keep_the_time_of_an_earlier_one_that_an_acknowledgment_of_another_member_left() -> None:
    story = Consuming(nack_backoff_min_ms=100, nack_backoff_multiplier=4, nack_backoff_max_ms=1_000)
    story.gets_batch(0, 2)
    story.nack(2)
    story.after(20)
    story.ack(1)
    story.after(40)
    story.nack(1)
    story.after(40)
    story.redeliver_frame(0)
    assert story.judged(backoff_grows)[0] == []


def test_refusal_that_waits_as_if_it_were_the_first_is_found() -> None:
    story = refusing(1)
    story.nack(1)
    story.after(100)
    story.redeliver_frame(0)
    assert story.judged(backoff_grows)[0] == ["too-early"]


@pytest.mark.parametrize(("timeout_ms", "codes"), [(300, []), (0, ["too-early"])])
def test_what_is_asked_for_early_may_be_asked_for_by_the_time_out(timeout_ms: int, codes: list[str]) -> None:
    backoff: dict[str, Any] = {"nack_backoff_min_ms": 100, "nack_backoff_multiplier": 4, "nack_backoff_max_ms": 1_000}
    story = Consuming(**backoff, nack_delay_ms=50, ack_timeout_ms=timeout_ms)
    story.gets(0)
    story.after(300)
    story.nack(1)
    story.redeliver_frame(0)
    assert story.judged(backoff_grows)[0] == codes


def test_refusal_that_waits_beyond_the_maximum_is_found() -> None:
    story = refusing(2)
    story.nack(1)
    story.after(1_600)
    story.redeliver_frame(0)
    assert story.judged(backoff_grows)[0] == ["too-late"]


def test_refusal_that_is_never_asked_for_is_found() -> None:
    story = refusing(0)
    story.nack(1)
    story.after(1_000)
    assert story.judged(backoff_grows)[0] == ["too-late"]


def test_refusal_that_is_said_three_times_may_keep_the_time_of_the_first() -> None:
    story = refusing(0)
    story.nack(1)
    story.nack(1)
    story.after(90)
    story.nack(1)
    story.after(10)
    story.redeliver_frame(0)
    assert story.judged(backoff_grows)[0] == []


def test_second_of_two_refusals_may_be_asked_for_behind_the_first() -> None:
    story = refusing(0)
    story.nack(1)
    story.after(60)
    story.nack(1)
    story.after(40)
    story.redeliver_frame(0)
    story.message(0, redelivery_count=1)
    story.received(0, redelivery_count=1)
    story.nack(2)
    story.after(60)
    story.redeliver_frame(0)
    assert story.judged(backoff_grows)[0] == []


def test_acknowledgment_ends_a_refusal() -> None:
    story = refusing(0)
    story.nack(1)
    story.ack(1)
    story.after(1_000)
    assert story.judged(backoff_grows) == ([], 0)


def test_refusal_of_what_came_on_a_lost_session_is_not_asked_for() -> None:
    story = refusing(0)
    story.cut()
    story.nack(1)
    story.again()
    story.after(1_000)
    assert story.judged(backoff_grows) == ([], 0)


def _refused_once_more_on_another_session(story: Consuming) -> list[str]:
    story.message(0, conn=1)
    story.received(0)
    story.after(40)
    story.nack(2)
    story.after(60)
    story.redeliver_frame(0, conn=1)
    return story.judged(backoff_grows)[0]


def test_refusal_that_was_said_without_a_session_may_keep_its_time() -> None:
    story = refusing(0)
    story.cut()
    story.nack(1)
    story.again()
    assert _refused_once_more_on_another_session(story) == []


def test_refusal_that_outlived_its_session_may_keep_its_time() -> None:
    story = refusing(0)
    story.nack(1)
    story.cut()
    story.again()
    assert _refused_once_more_on_another_session(story) == []


def test_short_refusal_that_waits_is_blamed_once() -> None:
    story = refusing(2, 0)
    story.nack(1)
    story.nack(2)
    story.after(1_000)
    story.redeliver_frame(0, 1)
    assert story.judged(backoff_grows)[0] == []
