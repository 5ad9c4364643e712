"""Dispatch and publish rates, on the cluster and on their buckets alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.broker.throttle import FlowBucket, PeriodBucket
from assay_conformance.model.case import Rate, Topic, Topology
from assay_conformance.model.policy import BrokerSettings

SECOND = 1_000_000_000


def _backlogged(entries: int, members: int = 1, **policy: Any) -> Bench:
    """A topic full of batches (of one: plain messages), and a consumer with all permits from 1300 ms on.

    A period of one second begins then: tokens are added when somebody asks for them and one has passed."""
    bench = Bench(**policy)
    bench.connect(9)
    bench.produce(9)
    for number in range(entries):
        if members == 1:
            bench.publish(number, conn=9)
        else:
            bench.publish_batch(number * members, members, conn=9)
    bench.connect(0)
    bench.subscribe()
    bench.wait(1_300)
    bench.flow(100_000)
    return bench


def _per_second(bench: Bench, seconds: int, members: int = 1) -> list[int]:
    """Messages delivered in each second after the first permits."""
    start_ms = bench.now_ms
    bench.wait(seconds * 1000 - 1)
    counts = Counter(int((at_ms - start_ms) // 1000) for at_ms, frame in bench.take_timed() if frame.type == C.MESSAGE)
    return [counts[second] * members for second in range(seconds)]


def test_dispatch_rate_gives_its_messages_each_period() -> None:
    bench = _backlogged(50, dispatch_rate=Rate(messages=10))
    assert _per_second(bench, 4) == [10, 10, 10, 10]


def test_overshoot_of_batches_is_repaid_by_empty_periods() -> None:
    # 10 entries of 6 messages are read for 10 tokens: 50 too many, five periods without any.
    bench = _backlogged(20, members=6, dispatch_rate=Rate(messages=10))
    assert _per_second(bench, 7, members=6) == [60, 0, 0, 0, 0, 0, 60]


def test_subscription_rate_holds_for_each_subscription_alone() -> None:
    bench = _backlogged(30, subscription_rate=Rate(messages=5))
    bench.subscribe(consumer_id=2, subscription="other")
    bench.flow(1000, consumer_id=2)
    bench.take()
    assert _per_second(bench, 2) == [0, 10]


def test_topic_rate_is_shared_by_its_subscriptions() -> None:
    bench = _backlogged(30, dispatch_rate=Rate(messages=5))
    bench.subscribe(consumer_id=2, subscription="other")
    bench.flow(1000, consumer_id=2)
    bench.take()
    assert sum(_per_second(bench, 4)) == 15


FIVE = Rate(messages=5)


@pytest.mark.parametrize(
    "topic",
    [Topic(name="t", partitions=2, dispatch_rate=FIVE), Topic(name="t", partitions=2, subscription_rate=FIVE)],
    ids=["topic", "subscription"],
)
def test_every_partition_is_dispatched_at_the_whole_rate(topic: Topic) -> None:
    bench = Bench(topology=Topology(topics=(topic,)))
    bench.connect(9)
    bench.connect(0)
    for number in range(2):
        partition = f"t-partition-{number}"
        bench.produce(9, producer_id=number, name=partition, topic=partition)
        bench.publish(*range(20), conn=9, producer_id=number)
        bench.subscribe(consumer_id=number, topic=partition)
    for number in range(2):
        bench.flow(1000, consumer_id=number)
    assert _per_second(bench, 3) == [10, 10, 10]


def test_redelivered_messages_are_charged_again() -> None:
    bench = _backlogged(10, dispatch_rate=Rate(messages=5))
    bench.take()
    bench.redeliver()
    assert bench.take() == []
    assert _per_second(bench, 2) == [0, 5]


def test_bytes_rate_stops_dispatch_as_well() -> None:
    bench = _backlogged(20, dispatch_rate=Rate(bytes=1))
    assert _per_second(bench, 3) == [1, 0, 0]


def test_longer_periods_are_kept() -> None:
    bench = _backlogged(30, dispatch_rate=Rate(messages=10, period_s=3))
    assert _per_second(bench, 6) == [10, 0, 10, 0, 0, 10]


def test_policy_taken_back_lets_everything_through() -> None:
    bench = _backlogged(30, dispatch_rate=Rate(messages=5))
    bench.take()
    bench.step("set_policy", topic="t", dispatch_rate={})
    assert len(bench.delivered()) == 25


# --- settings of a broker --------------------------------------------------------------------------------------------


def _set(settings: BrokerSettings, **policy: Any) -> dict[str, Any]:
    return {"topology": Topology(topics=(Topic(name="t", **policy), Topic(name="u")), settings=settings)}


def test_broker_rate_is_shared_by_its_topics() -> None:
    bench = _backlogged(30, **_set(BrokerSettings(dispatch_rate=Rate(messages=5))))
    topic = "persistent://public/default/u"
    bench.produce(9, producer_id=2, topic=topic)
    bench.publish(*range(30), conn=9, producer_id=2)
    bench.subscribe(consumer_id=2, topic=topic)
    bench.flow(1000, consumer_id=2)
    bench.take()
    assert sum(_per_second(bench, 4)) == 15


def test_tightest_level_counts() -> None:
    bench = _backlogged(50, dispatch_rate=Rate(messages=10), subscription_rate=Rate(messages=4))
    assert _per_second(bench, 3) == [4, 4, 4]


def test_messages_and_bytes_limit_together() -> None:
    bench = _backlogged(50, dispatch_rate=Rate(messages=3, bytes=1_000_000))
    assert _per_second(bench, 2) == [3, 3]


def test_precise_flow_control_leaves_rates_alone() -> None:
    bench = _backlogged(
        40, members=6, **_set(BrokerSettings(precise_flow_control=True), dispatch_rate=Rate(messages=10))
    )
    assert _per_second(bench, 7, members=6) == [60, 0, 0, 0, 0, 0, 60]


@pytest.mark.parametrize(("is_precise", "entries"), [(True, 2), (False, 12)])
def test_precise_flow_control_reads_as_many_entries_as_hold_the_permits(is_precise: bool, entries: int) -> None:
    bench = Bench(**_set(BrokerSettings(precise_flow_control=is_precise)))
    bench.connect()
    bench.produce()
    for number in range(40):
        bench.publish_batch(number * 6, 6)
    bench.subscribe()
    bench.flow(1)
    bench.take()
    bench.flow(5 + 12)
    assert len(bench.delivered()) == entries


def test_rate_may_count_entries() -> None:
    bench = _backlogged(
        40, members=6, **_set(BrokerSettings(rate_counts_entries=True), dispatch_rate=Rate(messages=10))
    )
    assert _per_second(bench, 3, members=6) == [60, 60, 60]


def test_subscription_that_is_not_behind_may_be_spared() -> None:
    bench = _backlogged(20, **_set(BrokerSettings(throttles_caught_up=False), dispatch_rate=Rate(messages=10)))
    assert _per_second(bench, 1) == [20]


def test_subscription_that_is_behind_is_throttled_all_the_same() -> None:
    bench = _backlogged(1_200, **_set(BrokerSettings(throttles_caught_up=False), dispatch_rate=Rate(messages=10)))
    assert _per_second(bench, 2) == [10, 10]


def test_rate_relative_to_publishing_adds_what_was_published() -> None:
    bench = _backlogged(0, dispatch_rate=Rate(messages=5, relative_to_publish=True))
    bench.publish(*range(30), conn=9)
    assert _per_second(bench, 2) == [5, 25]


# --- buckets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("used", "allowed"), [(11, [9, 10]), (30, [-10, 0, 10]), (3, [10])])
def test_period_bucket_follows_its_recurrence(used: int, allowed: list[int]) -> None:
    bucket = PeriodBucket(10, 1, 0)
    bucket.consume(used)
    assert [bucket.tokens(period * SECOND) for period in range(1, len(allowed) + 1)] == allowed


def test_tokens_are_those_of_all_the_time_that_passed() -> None:
    bucket = PeriodBucket(10, 2, 0)
    bucket.consume(30)
    assert [bucket.tokens(at_ns) for at_ns in (SECOND, 3 * SECOND, 4 * SECOND, 5 * SECOND)] == [-20, -5, -5, 5]


def test_what_flowed_in_unasked_pays_for_what_is_consumed() -> None:
    bench = Bench(dispatch_rate=Rate(messages=10))
    bench.connect()
    bench.produce()
    bench.subscribe()
    bench.flow(1_000)
    bench.wait(2_500)
    bench.publish_batch(0, 30)
    bench.publish(30)
    assert bench.delivered() == [0, 30]


def test_skipped_periods_are_added_up_to_the_limit() -> None:
    bucket = PeriodBucket(10, 1, 0)
    bucket.consume(25)
    assert bucket.tokens(5 * SECOND) == 10


def test_entry_larger_than_the_byte_rate_still_passes() -> None:
    bench = _backlogged(3, dispatch_rate=Rate(bytes=10))
    assert len(bench.delivered()) == 1


def test_flow_bucket_accepts_the_message_that_empties_it() -> None:
    bucket = FlowBucket(10, 1, 0)
    assert [bucket.consume(1, 0) for _ in range(10)] == [True] * 9 + [False]


def test_flow_bucket_pauses_for_one_token() -> None:
    bucket = FlowBucket(10, 1, 0)
    bucket.consume(10, 0)
    assert bucket.pause_ns(0) == SECOND // 10
    assert bucket.pause_ns(SECOND // 10) == 0


def test_fast_flow_bucket_pauses_for_sixteen_milliseconds() -> None:
    bucket = FlowBucket(100_000, 1, 0)
    bucket.consume(100_000, 0)
    assert bucket.pause_ns(0) == 16_000_000


# --- publish ---------------------------------------------------------------------------------------------------------


def _throttled() -> Bench:
    """A producer that has just used up a publish rate of 10 messages a second, five SENDs after it."""
    bench = Bench(publish_rate=Rate(messages=10))
    bench.connect()
    bench.produce()
    bench.publish(*range(15))
    return bench


def test_publish_rate_stops_the_reading_without_an_error() -> None:
    bench = _throttled()
    assert bench.paused == {0}
    assert bench.kinds() == ["SEND_RECEIPT"] * 10


def test_throttled_sends_are_read_later_in_order() -> None:
    bench = _throttled()
    bench.take()
    bench.wait(1000)
    timed = bench.take_timed()
    assert [frame.body.sequence_id for _, frame in timed] == list(range(10, 15))
    assert [at_ms for at_ms, _ in timed] == [100, 200, 300, 400, 500]
    assert bench.paused == set()


def test_other_commands_of_a_throttled_connection_wait_too() -> None:
    bench = _throttled()
    bench.take()
    bench.tell(C.PING)
    bench.wait(550)
    assert bench.kinds() == ["SEND_RECEIPT"] * 5
    bench.wait(50)
    assert bench.kinds() == ["PONG"]


def test_throttled_connection_is_pinged_and_not_judged() -> None:
    bench = Bench(publish_rate=Rate(messages=1, period_s=100))
    bench.connect()
    bench.produce()
    bench.publish(0, 1)
    bench.take()
    bench.wait(90_000)
    assert (bench.kinds(), bench.closed) == (["PING"] * 3, [])


def test_other_connections_are_not_throttled_with_it() -> None:
    bench = _throttled()
    bench.connect(1)
    bench.subscribe(conn=1)
    bench.flow(100, conn=1)
    assert len(bench.delivered(1)) == 10


def test_throttled_producers_go_on_in_turn() -> None:
    bench = _throttled()
    bench.connect(1)
    bench.produce(1, name="q")
    bench.publish(0, 1, conn=1, name="q")
    bench.wait(5000)
    assert sorted(bench.content) == sorted([*range(15), 0, 1])
    assert bench.paused == set()


def test_byte_rate_counts_what_is_stored() -> None:
    bench = Bench(publish_rate=Rate(bytes=100))
    bench.connect()
    bench.produce()
    bench.publish(*range(10))
    size = len(bench.stored_entries[0][2].block)
    assert len(bench.ids) == -(-100 // size)


def test_connection_that_ends_while_throttled_is_forgotten() -> None:
    bench = _throttled()
    bench.leave()
    bench.wait(1000)
    assert len(bench.ids) == 10
