"""What policies allow of consumers, subscriptions and producers, as far as time and order count.

The rest is in what real Pulsar answered (tests/fixtures/light/test_answers_of_real_pulsar.py).
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C, T

from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.policy import (
    BacklogAction,
    BacklogQuota,
    BrokerSettings,
    Policies,
    SubscribeRate,
    SubscriptionKind,
    nearest,
)
from assay_conformance.wire.pulsar_pb2 import ServerError


def connected(**policy: Any) -> Bench:
    bench = Bench(topology=Topology(topics=(Topic(name="t", **policy),)))
    bench.connect()
    return bench


def error_of(bench: Bench, kind: str = "Shared", consumer_id: int = 1, **fields: Any) -> int | None:
    """What a SUBSCRIBE is refused with; None when it is not."""
    answer = bench.subscribe(kind, consumer_id=consumer_id, **fields)
    return None if answer.type == C.SUCCESS else answer.body.error


def test_consumer_may_come_again_in_the_next_period() -> None:
    bench = connected(subscribe_rate=SubscribeRate(per_consumer=1, period_s=10))
    assert error_of(bench, consumer_name="c") is None
    bench.ask(C.CLOSE_CONSUMER, consumer_id=1)
    assert error_of(bench, consumer_name="c") == ServerError.NotAllowedError
    bench.wait(10_000)
    assert error_of(bench, consumer_name="c") is None


def test_limit_of_a_topic_is_looked_at_before_the_type() -> None:
    bench = connected(max_consumers=1, subscription_kinds=(SubscriptionKind.SHARED,))
    assert error_of(bench) is None
    assert error_of(bench, "Exclusive", 2, subscription="other") == ServerError.ConsumerBusy


def test_refused_consumer_of_a_full_topic_makes_no_subscription() -> None:
    bench = connected(max_consumers=1)
    error_of(bench)
    error_of(bench, consumer_id=2, subscription="other")
    topic = bench.cluster.topics.find(T)
    assert topic is not None
    assert list(topic.subscriptions) == ["s"]


def test_producer_that_does_not_encrypt_is_sent_away_once_it_has_to() -> None:
    bench = connected()
    bench.produce()
    bench.step("set_policy", topic="t", encryption_required=True)
    assert bench.kinds() == ["CLOSE_PRODUCER"]


def test_message_without_a_key_of_encryption_is_refused_and_the_next_is_stored() -> None:
    bench = connected(encryption_required=True)
    bench.produce(encrypted=True)
    bench.publish(0)
    bench.publish(1, meta={"encryption_keys": [{"key": "k", "value": b"v"}]})
    kinds = bench.kinds()
    assert (kinds, bench.content) == (["SEND_ERROR", "SEND_RECEIPT"], [1])


def test_topic_is_compacted_once_enough_came_since_the_last_time() -> None:
    bench = Bench(
        topology=Topology(
            topics=(Topic(name="t", compaction_threshold=100),), settings=BrokerSettings(compaction_check_ms=1_000)
        )
    )
    bench.connect()
    bench.produce()
    topic = bench.cluster.topics.find(T)
    assert topic is not None
    bench.publish(0, meta={"partition_key": "k"})
    bench.wait(1_000)
    assert topic.compaction is None
    bench.publish(*range(1, 10), meta={"partition_key": "k"})
    bench.wait(1_000)
    assert topic.compaction is not None
    assert topic.compaction.horizon == 10


def test_subscription_that_nobody_uses_is_deleted_and_one_in_use_is_not() -> None:
    bench = Bench(
        topology=Topology(
            topics=(Topic(name="t", subscription_expiry_minutes=5),),
            settings=BrokerSettings(subscription_expiry_check_ms=60_000),
            keep_alive_ms=3_600_000,
        )
    )
    bench.connect()
    bench.subscribe(subscription="used")
    bench.subscribe(subscription="left", consumer_id=2)
    bench.ask(C.CLOSE_CONSUMER, consumer_id=2)
    topic = bench.cluster.topics.find(T)
    assert topic is not None
    bench.wait(5 * 60_000)
    assert set(topic.subscriptions) == {"used", "left"}
    bench.wait(60_000)
    assert set(topic.subscriptions) == {"used"}


@pytest.mark.parametrize(("limit_bytes", "refused"), [(10, True), (10_000, False)])
def test_quota_of_size_refuses_producers_where_that_of_age_evicts(limit_bytes: int, refused: bool) -> None:
    quota = BacklogQuota(
        limit_bytes=limit_bytes,
        limit_s=100_000,
        action=BacklogAction.PRODUCER_EXCEPTION,
        age_action=BacklogAction.CONSUMER_BACKLOG_EVICTION,
    )
    bench = Bench(
        topology=Topology(topics=(Topic(name="t", backlog_quota=quota),), settings=BrokerSettings(backlog_check_ms=10))
    )
    bench.connect()
    bench.subscribe()
    bench.produce()
    bench.publish(*range(4))
    bench.wait(10)
    assert bench.cursor().backlog == 4
    assert (bench.produce(producer_id=2, name="q").type == C.ERROR) is refused


def test_quotas_of_size_and_of_age_come_from_the_level_that_sets_each() -> None:
    topic = Policies(backlog_quota=BacklogQuota(limit_bytes=5, action=BacklogAction.PRODUCER_EXCEPTION))
    namespace = Policies(backlog_quota=BacklogQuota(limit_bytes=9, limit_s=7))
    found = nearest(topic, namespace).backlog_quota
    assert found is not None
    assert (found.limit_bytes, found.action) == (5, BacklogAction.PRODUCER_EXCEPTION)
    assert (found.limit_s, found.of_age) == (7, BacklogAction.PRODUCER_REQUEST_HOLD)
