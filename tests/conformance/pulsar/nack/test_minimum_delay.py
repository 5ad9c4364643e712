"""The check of `nack.minimum-delay`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming
from tests.conformance.pulsar.nack._pace import refused

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.checks.nack.minimum_delay import minimum_delay


@pytest.mark.parametrize(("waited_ms", "codes"), [(100, []), (20, ["below-minimum"])])
def test_short_delay_is_taken_for_100_ms(waited_ms: int, codes: list[str]) -> None:
    story = refused(delay_ms=1)
    story.after(waited_ms)
    story.redeliver_frame(0)
    assert story.judged(minimum_delay)[0] == codes


@pytest.mark.parametrize(("outcome", "codes"), [(Outcome.FAIL, []), (Outcome.OK, ["below-minimum"])])
def test_entry_with_a_message_whose_retry_letter_fails_may_be_asked_for_at_once(
    outcome: Outcome, codes: list[str]
) -> None:
    story = refused(delay_ms=1)
    later = story.invoke("reconsume_later", CONSUMER, args={"messages": [1], "delay_ms": 0})
    story.complete(later, outcome)
    story.redeliver_frame(0)
    assert story.judged(minimum_delay)[0] == codes


def test_request_for_everything_does_not_use_up_refusals_that_were_not_due() -> None:
    story = refused(delay_ms=1, kind="Exclusive")
    story.after(20)
    story.nack(2)
    story.after(80)
    story.redeliver_frame()
    story.nack(3)
    story.after(20)
    story.redeliver_frame()
    assert story.judged(minimum_delay) == ([], 2)


def test_refusal_that_was_nearly_due_may_still_be_asked_for_in_its_own_time() -> None:
    story = refused(delay_ms=1, kind="Exclusive")
    story.after(5)
    story.nack(2)
    story.after(95)
    story.redeliver_frame()
    story.nack(3)
    story.after(5)
    story.redeliver_frame()
    assert story.judged(minimum_delay)[0] == []


def test_refusal_that_was_nearly_due_may_be_asked_for_a_tick_later() -> None:
    story = refused(delay_ms=1, kind="Exclusive")
    story.after(50)
    story.nack(2)
    story.after(60)
    story.nack(3)
    story.after(35)
    story.redeliver_frame()  # Of 0, whose tick came 45 ms late, and 5 ms before 1 was due.
    story.after(33)
    story.redeliver_frame()
    assert story.judged(minimum_delay) == ([], 2)


def test_one_that_was_nearly_due_excuses_one_request() -> None:
    story = refused(delay_ms=1, kind="Exclusive")
    story.after(5)
    story.nack(2)
    story.after(95)
    story.redeliver_frame()
    for delivery in (3, 4):
        story.nack(delivery)
        story.after(5)
        story.redeliver_frame()
    assert story.judged(minimum_delay)[0] == ["below-minimum"]


def test_messages_of_a_batch_that_are_refused_one_by_one_wait_each_for_its_own_time() -> None:
    story = Consuming("Exclusive", nack_delay_ms=1)
    story.gets_batch(0, 2)
    story.gets(1)
    story.nack(1)
    story.after(60)
    story.nack(2)
    story.after(40)
    story.redeliver_frame()
    story.nack(3)
    story.after(60)
    story.redeliver_frame()
    assert story.judged(minimum_delay)[0] == []


def test_delay_above_the_minimum_is_not_judged() -> None:
    story = refused(delay_ms=300)
    story.after(20)
    story.redeliver_frame(0)
    assert story.judged(minimum_delay) == ([], 0)


def test_coarse_precision_leaves_nothing_to_judge() -> None:
    story = refused(delay_ms=1, nack_precision_ms=256)
    story.redeliver_frame(0)
    assert story.judged(minimum_delay) == ([], 0)
