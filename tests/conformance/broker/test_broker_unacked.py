"""Too many messages unacknowledged: nothing more until half of them are acknowledged."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C


def _with_entries(count: int, kind: str = "Shared", **policy: Any) -> Bench:
    bench = Bench(**policy)
    bench.connect(9)
    bench.produce(9)
    bench.publish(*range(count), conn=9)
    bench.connect()
    bench.subscribe(kind)
    bench.flow(100)
    return bench


@pytest.mark.parametrize("kind", ["Shared", "Key_Shared"])
def test_consumer_gets_no_more_than_the_limit(kind: str) -> None:
    assert len(_with_entries(10, kind, max_unacked_per_consumer=4).delivered()) == 4


@pytest.mark.parametrize("kind", ["Exclusive", "Failover"])
def test_one_active_consumer_has_no_limit(kind: str) -> None:
    bench = _with_entries(10, kind, max_unacked_per_consumer=4)
    bench.wait(1_000)
    assert len(bench.delivered()) == 10


def test_consumer_gets_more_once_half_is_acked() -> None:
    bench = _with_entries(10, max_unacked_per_consumer=4)
    bench.take()
    bench.ack(bench.ids[0])
    assert bench.delivered() == []
    bench.ack(bench.ids[1])
    assert bench.delivered() == [4, 5]


def test_permits_given_while_blocked_count_afterwards() -> None:
    bench = Bench(max_unacked_per_consumer=2)
    bench.connect()
    bench.produce()
    bench.publish(*range(6))
    bench.subscribe("Shared")
    bench.flow(2)
    bench.flow(2)
    bench.take()
    bench.ack(*bench.ids[:2])
    assert bench.delivered() == [2, 3]


def test_blocked_consumer_says_so_in_its_stats() -> None:
    bench = _with_entries(10, max_unacked_per_consumer=4)
    assert bench.ask(C.CONSUMER_STATS, consumer_id=1).body.blockedConsumerOnUnackedMsgs


def test_other_consumers_go_on_while_one_is_blocked() -> None:
    bench = _with_entries(10, max_unacked_per_consumer=4)
    bench.connect(1)
    bench.subscribe("Shared", 1)
    bench.flow(100, conn=1)
    assert bench.delivered(1) == [4, 5, 6, 7]


def test_subscription_as_a_whole_stops_and_goes_on_below_half() -> None:
    bench = _with_entries(4, max_unacked_per_subscription=4)
    bench.publish(*range(4, 10), conn=9)
    assert len(bench.delivered()) == 4
    bench.ack(*bench.ids[:2])
    assert bench.delivered() == []
    bench.ack(bench.ids[2])
    assert len(bench.delivered()) == 6


def test_limit_of_a_subscription_stops_the_next_read_and_not_this_one() -> None:
    bench = _with_entries(10, max_unacked_per_subscription=4)
    assert len(bench.delivered()) == 10
    bench.publish(10, conn=9)
    assert bench.delivered() == []


def test_redelivered_messages_are_not_out_any_more() -> None:
    bench = _with_entries(10, max_unacked_per_consumer=4)
    bench.take()
    bench.redeliver()
    assert bench.delivered() == [0, 1, 2, 3]


def test_members_acked_one_by_one_count() -> None:
    bench = Bench(max_unacked_per_consumer=4)
    bench.connect()
    bench.produce()
    bench.publish_batch(0, 4)
    bench.publish_batch(4, 4)
    bench.subscribe("Shared")
    bench.flow(100)
    bench.take()
    position = {"ledgerId": bench.ids[0].ledger, "entryId": 0, "ack_set": [0b0011], "batch_size": 4}
    bench.tell(C.ACK, consumer_id=1, ack_type=0, message_id=[position])
    assert bench.delivered() == [4]


def test_chunks_of_a_message_stay_at_one_consumer() -> None:
    bench = Bench()
    bench.connect()
    bench.produce()
    for conn in (1, 2):
        bench.connect(conn)
        bench.subscribe("Shared", conn)
        bench.flow(100, conn=conn)
    for chunk in range(4):
        bench.publish_chunk(0, chunk, 4)
    assert sorted(len(bench.delivered(conn)) for conn in (1, 2)) == [0, 4]


@pytest.mark.parametrize("limit", ["max_unacked_per_consumer", "max_unacked_per_subscription"])
def test_limit_that_is_raised_lets_more_out(limit: str) -> None:
    low: dict[str, Any] = {limit: 4}
    bench = _with_entries(4, "Shared", **low)
    bench.publish(4, 5, conn=9)
    bench.take()
    bench.step("set_policy", topic="t", **{limit: 6})
    assert bench.delivered() == [4, 5]
