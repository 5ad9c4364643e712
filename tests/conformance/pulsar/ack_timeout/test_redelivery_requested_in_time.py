"""The check of `ack-timeout.redelivery-requested-in-time`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming
from tests.conformance.pulsar.ack_timeout._ack_together import held
from tests.conformance.pulsar.ack_timeout._histories import TICK_MS, TIMEOUT_MS, holding, timed

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.checks.ack_timeout.redelivery_requested_in_time import (
    ack_timeout_redelivery_requested_in_time,
)


@pytest.mark.parametrize(("waited_ms", "codes"), [(420, []), (350, ["too-early"]), (700, ["too-late"])])
def test_held_message_is_asked_for_in_its_window(waited_ms: int, codes: list[str]) -> None:
    story = holding()
    story.after(waited_ms)
    story.redeliver_frame(0)
    assert story.judged(ack_timeout_redelivery_requested_in_time)[0] == codes


def test_message_is_held_since_its_agent_had_it_not_since_the_bench_heard_of_it() -> None:
    story = timed()
    frame = story.message(0)
    story.after(50)
    story.received(0, done_ns=frame.t_ns)
    story.after(360)
    story.redeliver_frame(0)
    assert story.judged(ack_timeout_redelivery_requested_in_time) == ([], 1)


def test_where_the_agent_stood_still_it_may_have_had_a_message_for_longer() -> None:
    story = timed()
    story.message(0)
    story.after(50)
    story.load(50, agent_wait_ms=40)
    story.received(0)
    story.after(360)
    story.redeliver_frame(0)
    assert story.judged(ack_timeout_redelivery_requested_in_time) == ([], 0)


def test_message_that_had_not_even_come_so_long_ago_is_asked_for_too_early_on_any_machine() -> None:
    story = timed()
    story.message(0)
    story.load(50, agent_wait_ms=40)
    story.received(0)
    story.after(360)
    story.redeliver_frame(0)
    assert story.judged(ack_timeout_redelivery_requested_in_time)[0] == ["too-early"]


def test_held_message_that_is_never_asked_for_is_found() -> None:
    story = holding()
    story.after(700)
    story.close_consumer()
    assert story.judged(ack_timeout_redelivery_requested_in_time)[0] == ["never-asked-for"]


@pytest.mark.parametrize(("waited_ms", "codes"), [(450, []), (700, ["never-asked-for"])])
def test_held_message_that_is_settled_long_behind_its_time_out_had_to_be_asked_for(
    waited_ms: int, codes: list[str]
) -> None:
    story = holding()
    story.after(waited_ms)
    story.ack(1)
    story.close_consumer()
    assert story.judged(ack_timeout_redelivery_requested_in_time)[0] == codes


def test_acknowledged_message_is_not_owed() -> None:
    story = holding()
    story.ack(1)
    story.after(700)
    story.close_consumer()
    assert story.judged(ack_timeout_redelivery_requested_in_time) == ([], 0)


def test_held_message_may_go_to_a_dead_letter_topic_instead() -> None:
    story = Consuming(ack_timeout_ms=TIMEOUT_MS, ack_timeout_tick_ms=TICK_MS, max_redeliver_count=1)
    story.gets(0)
    story.after(700)
    story.close_consumer()
    assert story.judged(ack_timeout_redelivery_requested_in_time) == ([], 0)


@pytest.mark.parametrize(("outcome", "codes"), [(Outcome.FAIL, []), (Outcome.OK, ["too-early"])])
def test_message_whose_retry_letter_fails_may_be_asked_for_at_once(outcome: Outcome, codes: list[str]) -> None:
    story = holding()
    later = story.invoke("reconsume_later", CONSUMER, args={"messages": [1], "delay_ms": 0})
    story.complete(later, outcome)
    story.redeliver_frame(0)
    assert story.judged(ack_timeout_redelivery_requested_in_time)[0] == codes


def test_request_for_everything_is_judged_by_what_waited_longest() -> None:
    story = holding("Exclusive")
    story.after(350)
    story.gets(1)
    story.after(70)
    story.redeliver_frame()
    assert story.judged(ack_timeout_redelivery_requested_in_time) == ([], 1)


def test_refusals_ask_for_everything_at_their_own_time() -> None:
    story = holding("Exclusive")
    story.gets(1)
    story.nack(2)
    story.after(100)
    story.redeliver_frame()
    assert story.judged(ack_timeout_redelivery_requested_in_time) == ([], 0)


def test_of_two_copies_nothing_is_said() -> None:
    story = timed()
    story.message(0)
    story.message(0)
    story.received(0)
    story.after(350)
    story.redeliver_frame(0)
    assert story.judged(ack_timeout_redelivery_requested_in_time) == ([], 0)


def test_message_that_is_handed_over_twice_may_keep_the_time_of_the_first() -> None:
    story = timed()
    story.gets(0)
    story.after(450)
    story.gets(0)
    story.after(300)
    story.redeliver_frame(0)
    assert story.judged(ack_timeout_redelivery_requested_in_time)[0] == []


def test_what_came_over_a_lost_connection_is_not_owed() -> None:
    story = holding()
    story.cut()
    story.again()
    story.after(700)
    story.close_consumer(conn=1)
    assert story.judged(ack_timeout_redelivery_requested_in_time) == ([], 0)


def test_request_for_everything_may_be_for_what_nobody_knows_the_time_of() -> None:
    story = timed("Exclusive")
    story.gets_batch(0, 2)
    story.after(300)
    story.gets(1)
    story.after(120)
    story.redeliver_frame()
    assert story.judged(ack_timeout_redelivery_requested_in_time) == ([], 0)


def test_copy_of_a_refused_message_may_be_asked_for_at_the_refusals_time() -> None:
    story = holding()
    story.nack(1)
    story.gets(0)
    story.after(100)
    story.redeliver_frame(0)
    assert story.judged(ack_timeout_redelivery_requested_in_time) == ([], 0)


def test_uneven_ticks_are_blamed_once() -> None:
    assert held(500, 300, 350).judged(ack_timeout_redelivery_requested_in_time) == ([], 0)


@pytest.mark.parametrize(("acked", "codes"), [(True, []), (False, ["too-late"])])
def test_message_that_comes_again_behind_its_acknowledgment_is_not_held(acked: bool, codes: list[str]) -> None:
    story = holding()
    story.after(420)
    story.redeliver_frame(0)
    if acked:
        story.ack(1)
    story.message(0, redelivery_count=1)
    story.received(0)
    story.after(900)
    story.redeliver_frame(0)
    assert story.judged(ack_timeout_redelivery_requested_in_time)[0][-1:] == codes


def test_message_that_was_held_on_an_earlier_connection_may_be_asked_for_earlier() -> None:
    story = holding()
    story.after(200)
    story.cut()
    story.again()
    story.message(0, conn=1)
    story.received(0)
    story.after(300)
    story.redeliver_frame(0, conn=1)
    assert story.judged(ack_timeout_redelivery_requested_in_time) == ([], 1)
