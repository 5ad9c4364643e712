"""Publish rates of a topic, of its namespace and of its broker."""

from __future__ import annotations

from typing import Any

from tests.conformance.broker.bench import Bench

from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.policy import BrokerSettings, Policies, Rate

TEN, TWENTY = Rate(messages=10), Rate(messages=20)


def _bench(*topics: Topic, **fields: Any) -> Bench:
    """A connection and a producer each for `topics`."""
    bench = Bench(topology=Topology(topics=topics, **fields))
    for conn, topic in enumerate(topics):
        names = [topic.name] if not topic.partitions else [f"{topic.name}-partition-{i}" for i in range(2)]
        for number, name in enumerate(names):
            bench.connect(conn + 10 * number)
            bench.produce(conn + 10 * number, topic=name)
    return bench


def _passed(bench: Bench, conn: int = 0) -> int:
    """How many of 40 SENDs are answered at once."""
    bench.take(conn)
    bench.publish(*range(40), conn=conn)
    return len(bench.receipts(conn))


def test_namespace_rate_holds_for_each_of_its_topics() -> None:
    bench = _bench(Topic(name="a"), Topic(name="b"), namespace=Policies(publish_rate=TEN))
    assert [_passed(bench, conn) for conn in range(2)] == [10, 10]


def test_topic_rate_goes_before_the_namespace() -> None:
    assert _passed(_bench(Topic(name="a", publish_rate=TWENTY), namespace=Policies(publish_rate=TEN))) == 20


def test_every_partition_has_the_whole_rate() -> None:
    bench = _bench(Topic(name="a", partitions=2, publish_rate=TEN))
    assert [_passed(bench, conn) for conn in (0, 10)] == [10, 10]


def test_broker_rate_is_shared_by_its_topics() -> None:
    bench = _bench(Topic(name="a"), Topic(name="b"), settings=BrokerSettings(publish_rate=TEN))
    # The one that finds no token left is taken all the same.
    assert [_passed(bench, conn) for conn in range(2)] == [10, 1]


def test_broker_and_topic_rate_hold_together() -> None:
    bench = _bench(Topic(name="a", publish_rate=TEN), settings=BrokerSettings(publish_rate=Rate(messages=5)))
    assert _passed(bench) == 5
    bench.wait(2_000)
    assert 5 <= len(bench.receipts()) <= 11


def test_moved_topic_has_the_rate_of_its_new_broker() -> None:
    bench = _bench(Topic(name="a"), Topic(name="b"), brokers=2, settings=BrokerSettings(publish_rate=TEN))
    assert _passed(bench, 0) == 10
    bench.step("move", topic="b", broker=1)
    bench.connect(5, broker=1)
    bench.produce(5, topic="b")
    assert _passed(bench, 5) == 10


def test_rate_that_is_lifted_lets_everything_through() -> None:
    bench = _bench(Topic(name="a", publish_rate=TEN))
    assert _passed(bench) == 10
    bench.step("set_policy", topic="a", publish_rate={"messages": -1})
    assert (len(bench.receipts()), bench.paused) == (30, set())


def test_rate_that_is_changed_holds_for_what_waits() -> None:
    bench = _bench(Topic(name="a", publish_rate=TEN))
    assert _passed(bench) == 10
    bench.step("set_policy", topic="a", publish_rate={"messages": 20})
    assert (len(bench.receipts()), bench.paused) == (20, {0})
