"""The acknowledgment time-out, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.checks.consuming import Consuming

from assay_conformance.checks.ack_timeout import AskedForByType, AskedForInWindow, EndedByAck, PrefetchedDoNotCount
from assay_conformance.history.script import CONSUMER, NAME
from assay_conformance.model.event import MessageId, Meta, Outcome

TIMEOUT_MS, TICK_MS = 400, 50


def timed(kind: str = "Shared") -> Consuming:
    return Consuming(kind, ack_timeout_ms=TIMEOUT_MS, ack_timeout_tick_ms=TICK_MS)


def holding(kind: str = "Shared") -> Consuming:
    story = timed(kind)
    story.gets(0)
    return story


# --- ack-timeout.redelivery-requested-in-time ---


@pytest.mark.parametrize(("waited_ms", "codes"), [(420, []), (350, ["too-early"]), (700, ["too-late"])])
def test_held_message_is_asked_for_in_its_window(waited_ms: int, codes: list[str]) -> None:
    story = holding()
    story.after(waited_ms)
    story.redeliver_frame(0)
    assert story.judged(AskedForInWindow)[0] == codes


def test_message_is_held_since_its_agent_had_it_not_since_the_bench_heard_of_it() -> None:
    story = timed()
    frame = story.message(0)
    story.after(50)
    story.received(0, done_ns=frame.t_ns)
    story.after(360)
    story.redeliver_frame(0)
    assert story.judged(AskedForInWindow) == ([], 1)


def test_where_the_agent_stood_still_it_may_have_had_a_message_for_longer() -> None:
    story = timed()
    story.message(0)
    story.after(50)
    story.load(50, agent_wait_ms=40)
    story.received(0)
    story.after(360)
    story.redeliver_frame(0)
    assert story.judged(AskedForInWindow) == ([], 0)


def test_message_that_had_not_even_come_so_long_ago_is_asked_for_too_early_on_any_machine() -> None:
    story = timed()
    story.message(0)
    story.load(50, agent_wait_ms=40)
    story.received(0)
    story.after(360)
    story.redeliver_frame(0)
    assert story.judged(AskedForInWindow)[0] == ["too-early"]


def test_held_message_that_is_never_asked_for_is_found() -> None:
    story = holding()
    story.after(700)
    story.close_consumer()
    assert story.judged(AskedForInWindow)[0] == ["never-asked-for"]


def test_acknowledged_message_is_not_owed() -> None:
    story = holding()
    story.ack(1)
    story.after(700)
    story.close_consumer()
    assert story.judged(AskedForInWindow) == ([], 0)


def test_held_message_may_go_to_a_dead_letter_topic_instead() -> None:
    story = Consuming(ack_timeout_ms=TIMEOUT_MS, ack_timeout_tick_ms=TICK_MS, max_redeliver_count=1)
    story.gets(0)
    story.after(700)
    story.close_consumer()
    assert story.judged(AskedForInWindow) == ([], 0)


@pytest.mark.parametrize(("outcome", "codes"), [(Outcome.FAIL, []), (Outcome.OK, ["too-early"])])
def test_message_whose_retry_letter_fails_may_be_asked_for_at_once(outcome: Outcome, codes: list[str]) -> None:
    story = holding()
    later = story.invoke("reconsume_later", CONSUMER, args={"messages": [1], "delay_ms": 0})
    story.complete(later, outcome)
    story.redeliver_frame(0)
    assert story.judged(AskedForInWindow)[0] == codes


def test_request_for_everything_is_judged_by_what_waited_longest() -> None:
    story = holding("Exclusive")
    story.after(350)
    story.gets(1)
    story.after(70)
    story.redeliver_frame()
    assert story.judged(AskedForInWindow) == ([], 1)


def test_refusals_ask_for_everything_at_their_own_time() -> None:
    story = holding("Exclusive")
    story.gets(1)
    story.nack(2)
    story.after(100)
    story.redeliver_frame()
    assert story.judged(AskedForInWindow) == ([], 0)


def test_of_two_copies_nothing_is_said() -> None:
    story = timed()
    story.message(0)
    story.message(0)
    story.received(0)
    story.after(350)
    story.redeliver_frame(0)
    assert story.judged(AskedForInWindow) == ([], 0)


def test_message_that_is_handed_over_twice_may_keep_the_time_of_the_first() -> None:
    story = timed()
    story.gets(0)
    story.after(450)
    story.gets(0)
    story.after(300)
    story.redeliver_frame(0)
    assert story.judged(AskedForInWindow)[0] == []


def test_what_came_over_a_lost_connection_is_not_owed() -> None:
    story = holding()
    story.cut()
    story.again()
    story.after(700)
    story.close_consumer(conn=1)
    assert story.judged(AskedForInWindow) == ([], 0)


def test_request_for_everything_may_be_for_what_nobody_knows_the_time_of() -> None:
    story = timed("Exclusive")
    story.gets_batch(0, 2)
    story.after(300)
    story.gets(1)
    story.after(120)
    story.redeliver_frame()
    assert story.judged(AskedForInWindow) == ([], 0)


def test_copy_of_a_refused_message_may_be_asked_for_at_the_refusals_time() -> None:
    story = holding()
    story.nack(1)
    story.gets(0)
    story.after(100)
    story.redeliver_frame(0)
    assert story.judged(AskedForInWindow) == ([], 0)


# --- ack-timeout.request-fits-subscription-type ---


@pytest.mark.parametrize(
    ("kind", "ids", "codes"),
    [
        ("Shared", (0,), []),
        ("Key_Shared", (0,), []),
        ("Shared", (), ["everything-on-a-shared-subscription"]),
        ("Exclusive", (), []),
        ("Failover", (), []),
        ("Failover", (0,), ["ids-on-a-subscription-of-one"]),
    ],
)
def test_held_message_is_asked_for_as_its_subscription_needs_it(
    kind: str, ids: tuple[int, ...], codes: list[str]
) -> None:
    story = holding(kind)
    story.after(420)
    story.redeliver_frame(*ids)
    assert story.judged(AskedForByType) == (codes, 0 if codes else 1)


def test_refusal_on_an_exclusive_subscription_may_name_its_message() -> None:
    story = holding("Exclusive")
    story.nack(1)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(AskedForByType) == ([], 0)


def test_request_before_the_time_out_is_over_is_another_requirements_matter() -> None:
    story = holding("Exclusive")
    story.after(100)
    story.redeliver_frame(0)
    assert story.judged(AskedForByType) == ([], 0)


# --- ack-timeout.not-for-prefetched ---


def test_message_that_waits_in_the_queue_is_left_alone() -> None:
    story = timed()
    story.message(0)
    story.after(700)
    story.received(0)
    assert story.judged(PrefetchedDoNotCount) == ([], 1)


def test_prefetched_message_that_is_asked_for_is_found() -> None:
    story = timed()
    story.message(0)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(PrefetchedDoNotCount)[0] == ["prefetched-asked-for"]


def test_held_message_may_be_asked_for() -> None:
    story = holding()
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(PrefetchedDoNotCount) == ([], 0)


def test_message_handed_over_on_a_lost_connection_may_be_asked_for() -> None:
    story = timed()
    story.message(0)
    story.cut()
    story.received(0)
    story.again()
    story.message(0, conn=1)
    story.after(100)
    story.redeliver_frame(0, conn=1)
    assert story.judged(PrefetchedDoNotCount) == ([], 0)


# --- ack-timeout.ended-by-ack ---


def test_acknowledged_message_that_is_left_alone_is_right() -> None:
    story = holding()
    story.ack(1)
    story.after(700)
    story.close_consumer()
    assert story.judged(EndedByAck) == ([], 1)


def test_acknowledged_message_that_is_asked_for_is_found() -> None:
    story = holding()
    story.ack(1)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(EndedByAck)[0] == ["asked-after-ack"]


def test_copy_handed_over_behind_the_acknowledgment_is_held_anew() -> None:
    story = holding()
    acked = story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1]})
    story.gets(0)
    story.complete(acked)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(EndedByAck)[0] == []


def test_request_for_everything_when_all_is_acknowledged_is_found() -> None:
    story = holding("Exclusive")
    story.gets(1)
    story.ack(2, cumulative=True)
    story.after(420)
    story.redeliver_frame()
    assert story.judged(EndedByAck)[0] == ["asked-after-ack"]


def test_request_for_everything_when_something_is_held_is_right() -> None:
    story = holding("Exclusive")
    story.gets(1)
    story.ack(1)
    story.after(420)
    story.redeliver_frame()
    assert story.judged(EndedByAck)[0] == []


def test_half_acknowledged_batch_is_asked_for_rightly() -> None:
    story = timed()
    story.gets_batch(0, 2)
    story.ack(1)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(EndedByAck)[0] == []


def test_batch_acknowledged_to_the_last_message_is_settled() -> None:
    story = timed()
    story.gets_batch(0, 2)
    story.ack(1)
    story.ack(2)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(EndedByAck)[0] == ["asked-after-ack"]


def test_batch_acknowledged_half_in_each_of_two_deliveries_may_be_asked_for() -> None:
    story = timed()
    story.gets_batch(0, 2)
    story.gets_batch(0, 2)
    story.ack(2)
    story.ack(3)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(EndedByAck)[0] == []


def test_batch_that_came_again_when_a_part_had_been_handed_over_may_be_asked_for() -> None:
    story = timed()
    story.gets_batch(0, 2, only=(0,))
    story.message(0, 1, entry=0, batch=True)
    story.member(0, 1, 2)
    story.member(0, 0, 2)
    story.ack(2)
    story.ack(3)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(EndedByAck)[0] == []


def test_batch_of_which_two_copies_came_at_once_may_be_asked_for() -> None:
    story = timed()
    for _ in range(2):
        story.message(0, 1, entry=0, batch=True)
    for index in (0, 1, 0):
        story.member(0, index, 2)
    story.ack(2)
    story.ack(3)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(EndedByAck)[0] == []


def test_refused_message_may_be_asked_for() -> None:
    story = holding()
    story.nack(1)
    story.ack(1)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(EndedByAck)[0] == []


def test_request_for_a_message_inside_a_batch_is_found() -> None:
    story = timed()
    story.gets_batch(0, 2)
    story.after(420)
    story.up("REDELIVER_UNACKNOWLEDGED_MESSAGES", consumer_id=0, ids=(MessageId(1, 0, -1, 1),))
    assert story.judged(EndedByAck)[0] == ["batch-index-sent"]


@pytest.mark.parametrize(("named", "codes"), [((0, 1, 2), []), ((2,), ["chunk-left-out"])])
def test_chunked_message_is_asked_for_by_all_its_chunks(named: tuple[int, ...], codes: list[str]) -> None:
    story = timed()
    for chunk in range(3):
        story.message(0, entry=chunk, meta=Meta(producer_name=NAME, sequence_id=0, uuid="u", chunk_id=chunk, chunks=3))
    story.received(0, entry=2)
    story.after(420)
    story.redeliver_frame(*named)
    assert story.judged(EndedByAck)[0] == codes
