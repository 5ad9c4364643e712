"""The check of `delayed.not-before-deliver-at-time`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.delayed._histories import delayed_case, delivered

from assay_conformance.checks.trial import trial
from assay_conformance.pulsar.checks.delayed.not_before_deliver_at_time import not_before_deliver_at_time


def test_message_at_its_time_is_accepted() -> None:
    check = trial(not_before_deliver_at_time, delivered((1_000, 1_010)).done(), delayed_case())
    assert (codes_of(check), check.exercised) == ([], 1)


@pytest.mark.parametrize(("strict", "codes"), [(False, []), (True, ["early"])])
def test_message_may_be_a_tick_early_unless_that_is_ruled_out(strict: bool, codes: list[str]) -> None:
    assert (
        codes_of(trial(not_before_deliver_at_time, delivered((1_000, 920)).done(), delayed_case(strict=strict)))
        == codes
    )


def test_message_that_is_early_is_found() -> None:
    assert codes_of(trial(not_before_deliver_at_time, delivered((1_000, 500)).done(), delayed_case())) == ["early"]


@pytest.mark.parametrize("kind", ["Exclusive", "Failover"])
def test_only_shared_consumers_wait(kind: str) -> None:
    assert codes_of(trial(not_before_deliver_at_time, delivered((1_000, 50), kind=kind).done(), delayed_case())) == []


def test_delays_that_are_switched_off_are_not_judged() -> None:
    assert codes_of(trial(not_before_deliver_at_time, delivered((1_000, 50)).done(), delayed_case(active=False))) == []


def test_message_that_was_due_before_it_was_stored_shows_nothing() -> None:
    assert trial(not_before_deliver_at_time, delivered((1, 300)).done(), delayed_case()).exercised == 0


def test_broker_that_was_kept_from_running_may_find_both_due_at_once() -> None:
    story = delivered((700, 1_800), (1_000, 1_500))
    story.load(1_850, broker_wait_ms=300)
    check = trial(not_before_deliver_at_time, story.done(), delayed_case())
    assert (codes_of(check), bool(check.undecided_because)) == ([], True)


def test_earlier_message_that_comes_again_behind_a_later_one_is_not_out_of_turn() -> None:
    story = delivered((1_000, 1_010), (1_300, 1_310))
    story.cut()
    story.connected(1)
    story.subscribed(conn=1, kind="Shared", initialPosition="Earliest")
    story.flow(100, conn=1)
    story.at(2_000).message(0, conn=1)
    assert codes_of(trial(not_before_deliver_at_time, story.done(), delayed_case())) == []


def test_later_message_that_comes_first_is_found() -> None:
    assert codes_of(
        trial(not_before_deliver_at_time, delivered((700, 1_800), (1_000, 1_500)).done(), delayed_case())
    ) == ["out-of-turn"]


def test_messages_of_one_read_have_no_order() -> None:
    assert (
        codes_of(trial(not_before_deliver_at_time, delivered((700, 1_501), (1_000, 1_500)).done(), delayed_case()))
        == []
    )


def test_consumer_without_permits_gets_what_was_read_first() -> None:
    story = delivered((700, 1_800), (1_000, 1_500), permits=1)
    assert codes_of(trial(not_before_deliver_at_time, story.done(), delayed_case())) == []
