"""Time to live, backlog quotas, and what a subscription is made with."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.policy import BacklogAction, BacklogQuota, BrokerSettings, Retention
from assay_conformance.wire.pulsar_pb2 import ServerError

QUICK = BrokerSettings(expiry_check_ms=1_000, backlog_check_ms=1_000)


def _bench(**policy: Any) -> Bench:
    """Connection 9 publishes; the subscription is there and has no consumer."""
    bench = Bench(topology=Topology(topics=(Topic(name="t", **policy),), settings=QUICK))
    bench.connect(9)
    bench.produce(9)
    bench.connect()
    bench.subscribe("Shared")
    bench.leave()
    return bench


# --- time to live ----------------------------------------------------------------------------------------------------


def test_expired_entries_are_acknowledged() -> None:
    bench = _bench(message_ttl_s=5)
    bench.publish(0, 1, conn=9)
    bench.wait(4_000)
    bench.publish(2, conn=9)
    assert bench.cursor().backlog == 3
    bench.wait(3_000)
    assert bench.cursor().backlog == 1


def test_expired_entries_are_out_at_nobody_any_more() -> None:
    bench = _bench(message_ttl_s=5, max_unacked_per_consumer=2)
    bench.publish(*range(2), conn=9)
    bench.connect()
    bench.subscribe("Shared")
    bench.flow(10)
    bench.take()
    bench.wait(4_000)
    bench.publish(2, conn=9)
    assert bench.delivered() == []
    bench.wait(3_000)
    assert bench.delivered() == [2]


def test_time_to_live_that_is_set_later_holds() -> None:
    bench = _bench()
    bench.publish(0, conn=9)
    bench.step("set_policy", topic="t", message_ttl_s=1)
    bench.wait(3_000)
    assert bench.cursor().backlog == 0


def test_nothing_expires_without_one() -> None:
    bench = _bench()
    bench.publish(0, conn=9)
    bench.wait(1_000_000)
    assert bench.cursor().backlog == 1


# --- backlog quota ---------------------------------------------------------------------------------------------------


def _full(action: BacklogAction, **limit: Any) -> Bench:
    bench = _bench(backlog_quota=BacklogQuota(action=action, **limit))
    bench.publish(*range(4), conn=9)
    bench.take(9)
    return bench


REFUSED = [
    (BacklogAction.PRODUCER_REQUEST_HOLD, ServerError.ProducerBlockedQuotaExceededError),
    (BacklogAction.PRODUCER_EXCEPTION, ServerError.ProducerBlockedQuotaExceededException),
]


@pytest.mark.parametrize(("action", "error"), REFUSED)
def test_full_backlog_refuses_new_producers(action: BacklogAction, error: ServerError) -> None:
    bench = _full(action, limit_bytes=10)
    assert bench.produce(9, producer_id=2, name="q").body.error == error


@pytest.mark.parametrize("action", [action for action, _ in REFUSED])
def test_full_backlog_sends_producers_away_at_the_next_check(action: BacklogAction) -> None:
    bench = _full(action, limit_bytes=10)
    bench.wait(1_000)
    assert bench.kinds(9) == ["CLOSE_PRODUCER"]


def test_old_backlog_counts_as_well() -> None:
    bench = _full(BacklogAction.PRODUCER_REQUEST_HOLD, limit_s=10)
    assert bench.produce(9, producer_id=2, name="q").type == C.PRODUCER_SUCCESS
    bench.wait(11_000)
    error = bench.produce(9, producer_id=3, name="r").body.error
    assert error == ServerError.ProducerBlockedQuotaExceededError


def test_producers_are_let_in_again_once_the_backlog_is_gone() -> None:
    bench = _full(BacklogAction.PRODUCER_REQUEST_HOLD, limit_bytes=10)
    bench.connect()
    bench.subscribe("Shared")
    bench.flow(10)
    bench.ack(*bench.ids)
    assert bench.produce(9, producer_id=2, name="q").type == C.PRODUCER_SUCCESS


def test_eviction_drops_the_oldest_and_lets_producers_be() -> None:
    size = len(_full(BacklogAction.PRODUCER_EXCEPTION).stored_entries[0][2].block)
    bench = _full(BacklogAction.CONSUMER_BACKLOG_EVICTION, limit_bytes=3 * size)
    bench.wait(1_000)
    assert (bench.cursor().backlog, bench.kinds(9)) == (2, [])


def test_backlog_within_the_quota_is_left_alone() -> None:
    bench = _full(BacklogAction.CONSUMER_BACKLOG_EVICTION, limit_bytes=1_000_000)
    bench.wait(10_000)
    assert bench.cursor().backlog == 4


# --- what a subscription is made with --------------------------------------------------------------------------------


def test_properties_are_kept_from_the_first_consumer() -> None:
    bench = Bench()
    for conn, value in enumerate("ab"):
        bench.connect(conn)
        bench.subscribe("Shared", conn, subscription_properties=[{"key": "k", "value": value}])
    (topic,) = bench.cluster.topics.of_local("t")
    assert topic.subscriptions["s"].properties == {"k": "a"}


def test_subscription_may_begin_some_time_ago() -> None:
    bench = Bench()
    bench.connect()
    bench.produce()
    for number in range(5):
        bench.publish(number)
        bench.wait(10_000)
    bench.subscribe(initialPosition="Latest", start_message_rollback_duration_sec=25)
    bench.flow(10)
    assert bench.delivered() == [3, 4]


def test_forced_unsubscribe_sends_the_others_away() -> None:
    bench = Bench()
    for conn in (0, 1):
        bench.connect(conn)
        bench.subscribe("Shared", conn)
    assert bench.ask(C.UNSUBSCRIBE, consumer_id=1, force=True).type == C.SUCCESS
    assert bench.kinds(1)[-1] == "CLOSE_CONSUMER"


def test_compacted_reading_is_for_one_active_consumer_only() -> None:
    bench = Bench()
    bench.connect()
    assert bench.subscribe("Shared", read_compacted=True).body.error == ServerError.NotAllowedError


def test_stats_tell_since_when_a_consumer_is_there() -> None:
    bench = Bench()
    bench.connect()
    bench.subscribe("Key_Shared", consumer_name="c")
    told = bench.ask(C.CONSUMER_STATS, consumer_id=1).body
    assert (told.consumerName, told.type, told.connectedSince) == ("c", "Key_Shared", "1970-01-01T00:00:00+00:00")


# --- retention -------------------------------------------------------------------------------------------------------


def _consumed(**retention: int) -> Bench:
    """Four entries that the only subscription has acknowledged, in a ledger that an unload has closed."""
    bench = _bench(**({"retention": Retention(**retention)} if retention else {}))
    bench.publish(*range(4), conn=9)
    bench.connect()
    bench.subscribe("Shared")
    bench.flow(10)
    bench.ack(*bench.ids)
    bench.step("unload", topic="t")
    bench.produce(9)
    return bench


def _from_the_beginning(bench: Bench) -> list[int]:
    bench.connect(7)
    bench.subscribe(conn=7, subscription="late")
    bench.flow(10, conn=7)
    return bench.delivered(7)


def test_consumed_ledger_is_deleted_where_nothing_is_retained() -> None:
    bench = _consumed(minutes=0, bytes=0)
    bench.publish(4, conn=9)
    assert (_from_the_beginning(bench), len(bench.read_back())) == ([4], 1)


def test_everything_stays_where_no_retention_is_set() -> None:
    assert _from_the_beginning(_consumed()) == [0, 1, 2, 3]


def test_retained_time_keeps_a_consumed_ledger() -> None:
    assert _from_the_beginning(_consumed(minutes=10, bytes=-1)) == [0, 1, 2, 3]


def test_retained_time_passes() -> None:
    bench = _consumed(minutes=10, bytes=-1)
    bench.wait(13 * 60_000)
    assert bench.read_back() == []


def test_retained_bytes_keep_what_fits() -> None:
    assert _from_the_beginning(_consumed(minutes=-1, bytes=1_000_000)) == [0, 1, 2, 3]


def test_unacknowledged_ledger_is_never_deleted() -> None:
    bench = _bench(retention=Retention())
    bench.publish(0, conn=9)
    bench.step("unload", topic="t")
    bench.wait(600_000)
    assert len(bench.read_back()) == 1


def test_open_ledger_is_never_deleted() -> None:
    bench = Bench(retention=Retention())
    bench.connect(9)
    bench.produce(9)
    bench.publish(0, conn=9)
    bench.wait(600_000)
    assert len(bench.read_back()) == 1


def test_seek_reaches_no_deleted_entry() -> None:
    bench = _consumed(minutes=0, bytes=0)
    bench.publish(4, conn=9)
    bench.connect(7)
    bench.subscribe("Shared", 7)
    bench.ask(C.SEEK, 7, consumer_id=1, message_publish_time=0)
    bench.subscribe("Shared", 7)
    bench.flow(10, conn=7)
    assert bench.delivered(7) == [4]
