"""Delayed delivery: what has to wait, for how long, and for whom there is no delay."""

from __future__ import annotations

import pytest
from tests.conformance.broker.bench import Bench

from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.policy import BrokerSettings, DelayedDelivery


def _with_consumer(kind: str = "Shared", *, strict: bool = False, tick_ms: int = 100, **policy: object) -> Bench:
    delay = DelayedDelivery(tick_ms=tick_ms)
    topology = Topology(
        topics=(Topic(name="t", **{"delayed_delivery": delay} | policy),),  # type: ignore[arg-type]
        settings=BrokerSettings(delayed_strict=strict),
    )
    bench = Bench(topology=topology)
    bench.connect()
    bench.produce()
    bench.subscribe(kind)
    bench.flow(100)
    return bench


def _publish(bench: Bench, number: int, due_ms: int) -> None:
    bench.publish(number, meta={"deliver_at_time": due_ms})


@pytest.mark.parametrize("kind", ["Shared", "Key_Shared"])
def test_message_waits_for_its_time(kind: str) -> None:
    bench = _with_consumer(kind)
    _publish(bench, 0, 1_000)
    bench.wait(999)
    assert bench.delivered() == []
    bench.wait(1)
    assert bench.delivered() == [0]


@pytest.mark.parametrize("kind", ["Exclusive", "Failover"])
def test_one_active_consumer_knows_no_delay(kind: str) -> None:
    bench = _with_consumer(kind)
    bench.wait(1_000)
    _publish(bench, 0, 60_000)
    assert bench.delivered() == [0]


def test_others_overtake_a_delayed_message() -> None:
    bench = _with_consumer()
    _publish(bench, 0, 1_000)
    bench.publish(1)
    assert bench.delivered() == [1]


def test_the_one_due_first_comes_first() -> None:
    bench = _with_consumer()
    _publish(bench, 0, 3_000)
    _publish(bench, 1, 1_000)
    bench.wait(5_000)
    assert bench.delivered() == [1, 0]


def test_what_is_due_within_a_tick_is_not_delayed() -> None:
    bench = _with_consumer()
    _publish(bench, 0, 100)
    assert bench.delivered() == [0]


def test_strict_delivery_is_never_early() -> None:
    bench = _with_consumer(strict=True)
    _publish(bench, 0, 50)
    assert bench.delivered() == []
    bench.wait(200)
    assert bench.delivered() == [0]


def test_something_else_dispatched_takes_along_what_is_due_within_a_tick() -> None:
    bench = _with_consumer()
    _publish(bench, 0, 1_000)
    bench.wait(950)
    bench.publish(1)
    assert bench.delivered() == [0, 1]


def test_delay_can_be_turned_off() -> None:
    bench = _with_consumer(delayed_delivery=DelayedDelivery(active=False))
    _publish(bench, 0, 60_000)
    assert bench.delivered() == [0]


def test_delayed_message_survives_a_restart() -> None:
    bench = _with_consumer()
    _publish(bench, 0, 5_000)
    bench.step("restart")
    bench.connect(1)
    bench.subscribe("Shared", 1)
    bench.flow(10, conn=1)
    assert bench.delivered(1) == []
    bench.wait(5_000)
    assert bench.delivered(1) == [0]


def test_delayed_message_waits_for_a_consumer_that_comes_late() -> None:
    bench = _with_consumer()
    _publish(bench, 0, 1_000)
    bench.leave()
    bench.wait(2_000)
    bench.connect(1)
    bench.subscribe("Shared", 1)
    bench.flow(10, conn=1)
    assert bench.delivered(1) == [0]
