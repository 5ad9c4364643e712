"""How refusals are paced, what they bring back on exclusive subscriptions, and what ends them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.checks.consuming import Consuming

from assay_conformance.checks.base import Check
from assay_conformance.checks.nack import (
    AllInOrder,
    DroppedOnClose,
    EndsAckTimeout,
    LeastDelay,
    Merged,
    RedeliveredInWindow,
    SteadyRefusals,
)
from assay_conformance.checks.tolerance import MS
from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Outcome


def refused(delay_ms: int = 300, kind: str = "Shared", **constants: Any) -> Consuming:
    """Message 0 of five is refused."""
    story = Consuming(kind, nack_delay_ms=delay_ms, **constants)
    story.gets(0, 1, 2, 3, 4)
    story.nack(1)
    return story


# --- nack.minimum-delay ---


@pytest.mark.parametrize(("waited_ms", "codes"), [(100, []), (20, ["below-minimum"])])
def test_short_delay_is_taken_for_100_ms(waited_ms: int, codes: list[str]) -> None:
    story = refused(delay_ms=1)
    story.after(waited_ms)
    story.redeliver_frame(0)
    assert story.judged(LeastDelay)[0] == codes


@pytest.mark.parametrize(("outcome", "codes"), [(Outcome.FAIL, []), (Outcome.OK, ["below-minimum"])])
def test_entry_with_a_message_whose_retry_letter_fails_may_be_asked_for_at_once(
    outcome: Outcome, codes: list[str]
) -> None:
    story = refused(delay_ms=1)
    later = story.invoke("reconsume_later", CONSUMER, args={"messages": [1], "delay_ms": 0})
    story.complete(later, outcome)
    story.redeliver_frame(0)
    assert story.judged(LeastDelay)[0] == codes


def test_request_for_everything_does_not_use_up_refusals_that_were_not_due() -> None:
    story = refused(delay_ms=1, kind="Exclusive")
    story.after(20)
    story.nack(2)
    story.after(80)
    story.redeliver_frame()
    story.nack(3)
    story.after(20)
    story.redeliver_frame()
    assert story.judged(LeastDelay) == ([], 2)


def test_refusal_that_was_nearly_due_may_still_be_asked_for_in_its_own_time() -> None:
    story = refused(delay_ms=1, kind="Exclusive")
    story.after(5)
    story.nack(2)
    story.after(95)
    story.redeliver_frame()
    story.nack(3)
    story.after(5)
    story.redeliver_frame()
    assert story.judged(LeastDelay)[0] == []


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
    assert story.judged(LeastDelay) == ([], 2)


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
    assert story.judged(LeastDelay)[0] == ["below-minimum"]


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
    assert story.judged(LeastDelay)[0] == []


def test_delay_above_the_minimum_is_not_judged() -> None:
    story = refused(delay_ms=300)
    story.after(20)
    story.redeliver_frame(0)
    assert story.judged(LeastDelay) == ([], 0)


def test_coarse_precision_leaves_nothing_to_judge() -> None:
    story = refused(delay_ms=1, nack_precision_ms=256)
    story.redeliver_frame(0)
    assert story.judged(LeastDelay) == ([], 0)


# --- nack.later-nacks-do-not-postpone ---


def steadily(asked_at_ms: int) -> Consuming:
    story = refused()
    for delivery in (2, 3, 4, 5):
        story.after(60)
        story.nack(delivery)
    story.at(asked_at_ms)
    story.redeliver_frame(0, 1, 2, 3, 4)
    return story


def test_refusal_asked_for_among_others_is_right() -> None:
    assert steadily(asked_at_ms=430).judged(SteadyRefusals)[0] == []


def test_refusal_postponed_by_others_is_found() -> None:
    assert steadily(asked_at_ms=600).judged(SteadyRefusals)[0] == ["postponed"]


def test_refusal_that_is_never_asked_for_among_others_is_found() -> None:
    story = refused()
    story.after(60)
    story.nack(2)
    story.after(600)
    story.close_consumer()
    assert "postponed" in story.judged(SteadyRefusals)[0]


def test_single_refusal_is_another_requirement() -> None:
    story = refused()
    story.after(700)
    story.redeliver_frame(0)
    assert story.judged(SteadyRefusals) == ([], 0)


def test_acknowledged_refusal_is_not_owed() -> None:
    story = refused()
    story.nack(2)
    story.ack(1)
    story.after(700)
    story.redeliver_frame(1)
    assert story.judged(SteadyRefusals) == ([], 0)


@pytest.mark.parametrize("check", [SteadyRefusals, RedeliveredInWindow])
def test_refused_message_may_go_to_a_dead_letter_topic_instead(check: type[Check]) -> None:
    story = refused(max_redeliver_count=1)
    story.after(60)
    story.nack(2)
    story.after(600)
    story.close_consumer()
    assert story.judged(check)[0] == []


# --- nack.requests-merged ---


def together(most: int = 0) -> Consuming:
    story = Consuming(nack_delay_ms=300, max_redeliver_count=most)
    story.gets(0, 1, 2, 3)
    story.nack(1, 2, 3, 4)
    story.after(300)
    return story


def test_refusals_of_one_call_in_one_command_are_right() -> None:
    story = together()
    story.redeliver_frame(0, 1, 2, 3)
    assert story.judged(Merged) == ([], 1)


def test_agents_word_on_the_call_may_come_behind_the_request() -> None:
    story = Consuming(nack_delay_ms=300)
    story.gets(0, 1, 2, 3)
    invoke = story.invoke("nack", CONSUMER, args={"consumer": CONSUMER, "messages": [1, 2, 3, 4]})
    story.after(300)
    story.redeliver_frame(0, 1, 2, 3)
    story.complete(invoke)
    assert story.judged(Merged) == ([], 1)


def test_tick_may_fall_between_them() -> None:
    story = together()
    story.redeliver_frame(0)
    story.redeliver_frame(1, 2, 3)
    assert story.judged(Merged) == ([], 1)


@pytest.mark.parametrize(("done_ms", "codes"), [(1, ["not-merged"]), (190, [])])
def test_a_tick_falls_between_them_while_the_client_takes_them_over_and_not_while_its_agent_tells(
    done_ms: int, codes: list[str]
) -> None:
    story = Consuming(nack_delay_ms=300)
    story.gets(0, 1, 2, 3)
    invoke = story.invoke("nack", CONSUMER, args={"consumer": CONSUMER, "messages": [1, 2, 3, 4]})
    called_ns = invoke.t_ns
    story.after(200)
    story.complete(invoke, called_ns=called_ns, done_ns=called_ns + done_ms * MS)
    story.after(100)
    for entry in range(4):
        story.redeliver_frame(entry)
    assert story.judged(Merged)[0] == codes


def test_messages_whose_letters_could_not_be_sent_come_back_one_by_one() -> None:
    story = together(most=1)
    for entry in range(4):
        story.redeliver_frame(entry)
    assert story.judged(Merged)[0] == []


def test_refusals_asked_for_one_by_one_are_found() -> None:
    story = together()
    for entry in range(4):
        story.redeliver_frame(entry)
    assert story.judged(Merged)[0] == ["not-merged"]


# --- nack.exclusive-redelivers-all-in-order ---


def everything_again(kind: str = "Exclusive") -> Consuming:
    story = refused(kind=kind)
    story.after(300)
    story.redeliver_frame()
    for entry in range(5):
        story.message(entry)
    return story


def test_everything_handed_over_again_is_right() -> None:
    story = everything_again()
    for entry in range(5):
        story.received(entry)
    assert story.judged(AllInOrder) == ([], 5)


def test_message_out_of_order_is_found() -> None:
    story = everything_again()
    for entry in (0, 2, 1, 3, 4):
        story.received(entry)
    assert story.judged(AllInOrder)[0] == ["out-of-order"]


def test_what_was_sought_need_not_come_back() -> None:
    story = refused(kind="Exclusive")
    story.complete(story.invoke("seek", CONSUMER, args={"message_id": [1, 0, -1, -1, 0]}))
    story.after(300)
    story.redeliver_frame()
    for entry in range(5):
        story.message(entry)
    for entry in range(1, 5):
        story.received(entry)
    assert story.judged(AllInOrder) == ([], 4)


def test_message_that_does_not_come_back_is_found() -> None:
    story = everything_again("Failover")
    story.received(0)
    story.after(600)
    story.receive(asked=4, got=0)
    assert story.judged(AllInOrder)[0] == ["not-back"]


@pytest.mark.parametrize(("reads", "codes"), [(True, []), (False, ["not-back"])])
def test_what_a_reader_has_read_need_not_come_back(reads: bool, codes: list[str]) -> None:
    story = refused(kind="Exclusive")
    if reads:
        story.as_reader()
    story.after(300)
    story.redeliver_frame()
    story.message(0)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(AllInOrder)[0] == codes


def test_acknowledged_message_need_not_come_back() -> None:
    story = everything_again()
    story.received(0)
    story.ack(2)
    for entry in (2, 3, 4):
        story.received(entry)
    assert story.judged(AllInOrder) == ([], 4)


def test_what_another_subscription_acknowledged_comes_back_all_the_same() -> None:
    story = everything_again()
    other = CONSUMER + 1
    story.consumer(other, consumer_id=1, subscription="other", kind="Exclusive")
    story.message(0, consumer_id=1)
    story.received(0, consumer=other)
    acking = story.invoke("ack", other, args={"consumer": other, "messages": [1]})
    story.complete(acking)
    story.received(1)
    assert story.judged(AllInOrder)[0] == ["out-of-order"]


def test_prefetched_copies_may_come_first() -> None:
    story = Consuming("Exclusive", nack_delay_ms=300)
    story.gets(0)
    story.message(1)
    story.nack(1)
    story.after(300)
    story.redeliver_frame()
    story.message(0)
    story.message(1)
    for entry in (1, 0, 1):
        story.received(entry)
    assert story.judged(AllInOrder) == ([], 1)


def test_what_was_on_its_way_in_an_earlier_epoch_may_be_dropped() -> None:
    story = refused(kind="Exclusive")
    story.after(300)
    story.redeliver_frame(fields={"consumer_epoch": 1})
    story.message(5, fields={"consumer_epoch": 0})
    for entry in range(6):
        story.message(entry, fields={"consumer_epoch": 1})
    for entry in range(6):
        story.received(entry)
    assert story.judged(AllInOrder) == ([], 5)


def test_shared_subscription_is_none_of_this() -> None:
    assert everything_again("Shared").judged(AllInOrder) == ([], 0)


# --- nack.ends-ack-timeout ---


def timed(**constants: Any) -> Consuming:
    return refused(delay_ms=600, ack_timeout_ms=400, **constants)


def test_one_request_after_the_delay_is_right() -> None:
    story = timed()
    story.after(600)
    story.redeliver_frame(0)
    assert story.judged(EndsAckTimeout) == ([], 1)


def test_request_at_the_ack_timeout_is_found() -> None:
    story = timed()
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(EndsAckTimeout)[0] == ["still-timed-out"]


def test_request_at_the_moment_of_the_refusal_was_under_way() -> None:
    story = timed()
    story.redeliver_frame(0)
    assert story.judged(EndsAckTimeout) == ([], 0)


def test_second_request_is_found() -> None:
    story = timed()
    story.after(600)
    story.redeliver_frame(0)
    story.redeliver_frame(0)
    assert story.judged(EndsAckTimeout)[0] == ["asked-twice"]


def test_request_for_what_came_again_is_right() -> None:
    story = timed()
    story.after(600)
    story.redeliver_frame(0)
    story.gets(0)
    story.after(450)
    story.redeliver_frame(0)
    assert story.judged(EndsAckTimeout) == ([], 1)


def test_batch_handed_over_in_parts_starts_the_clock_again() -> None:
    story = Consuming(nack_delay_ms=100, ack_timeout_ms=200)
    story.gets_batch(0, 2, only=(0,))
    story.nack(1)
    story.member(0, 1, 2)
    story.after(100)
    story.redeliver_frame(0)
    story.after(100)
    story.redeliver_frame(0)
    assert story.judged(EndsAckTimeout) == ([], 0)


def test_message_refused_on_a_lost_connection_too_may_be_asked_for_at_that_time() -> None:
    story = Consuming(nack_delay_ms=300, ack_timeout_ms=200)
    story.gets(0)
    story.cut()
    story.nack(1)
    story.again()
    story.message(0, conn=1)
    story.received(0)
    story.after(100)
    story.nack(2)
    story.after(190)
    story.redeliver_frame(0, conn=1)
    assert story.judged(EndsAckTimeout) == ([], 0)


# --- nack.dropped-on-close ---


def test_close_that_does_not_wait_is_right() -> None:
    story = refused(delay_ms=4_000)
    story.close_consumer()
    assert story.judged(DroppedOnClose) == ([], 1)


def test_close_that_waits_is_found() -> None:
    story = refused(delay_ms=4_000)
    story.invoke("close", 2, args={"handle": 2})
    story.after(2_000)
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=99)
    assert story.judged(DroppedOnClose)[0] == ["close-waited"]


def test_close_of_a_lost_consumer_is_not_judged() -> None:
    story = refused(delay_ms=4_000)
    story.cut()
    story.invoke("close", 2, args={"handle": 2})
    assert story.judged(DroppedOnClose) == ([], 0)
