"""Policies of three levels: the topic's own, else the namespace's, else the broker's."""

from __future__ import annotations

from tests.conformance.broker.bench import Bench

from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.policy import BrokerSettings, Policies, Rate, nearest

UNSET, NONE, FEW, MANY = Rate(), Rate(messages=-1), Rate(messages=2), Rate(messages=7)


def _delivered(*, topic: Rate = UNSET, namespace: Rate | None = None, broker: Rate | None = None) -> int:
    """How many of ten waiting messages a consumer gets at once."""
    topology = Topology(
        topics=(Topic(name="t", dispatch_rate=topic),),
        namespace=Policies(dispatch_rate=namespace),
        settings=BrokerSettings(policies=Policies(dispatch_rate=broker)),
    )
    bench = Bench(topology=topology)
    bench.connect()
    bench.produce()
    bench.publish(*range(10))
    bench.subscribe()
    bench.take()
    bench.flow(100)
    return len(bench.delivered())


def test_broker_level_holds_where_nothing_else_is_set() -> None:
    assert _delivered(broker=FEW) == 2


def test_namespace_goes_before_the_broker() -> None:
    assert _delivered(namespace=FEW, broker=MANY) == 2


def test_topic_goes_before_the_namespace() -> None:
    assert _delivered(topic=MANY, namespace=FEW) == 7


def test_topic_may_be_without_a_limit_whatever_the_namespace_says() -> None:
    assert _delivered(topic=NONE, namespace=FEW) == 10


def test_each_policy_is_looked_for_by_itself() -> None:
    found = nearest(Policies(dispatch_rate=FEW), Policies(dispatch_rate=MANY, message_ttl_s=9))
    assert found == Policies(dispatch_rate=FEW, message_ttl_s=9)


def test_step_changes_the_namespace() -> None:
    bench = Bench()
    bench.connect()
    bench.produce()
    bench.publish(*range(10))
    bench.step("set_policy", dispatch_rate={"messages": 3})
    bench.subscribe()
    bench.take()
    bench.flow(100)
    assert bench.delivered() == [0, 1, 2]


def test_step_that_does_not_touch_a_rate_leaves_its_bucket_as_it_is() -> None:
    bench = Bench(dispatch_rate=FEW)
    bench.connect()
    bench.produce()
    bench.publish(*range(10))
    bench.subscribe()
    bench.take()
    bench.flow(100)
    assert bench.delivered() == [0, 1]
    bench.step("set_policy", topic="t", message_ttl_s=3_600)
    assert bench.delivered() == []
