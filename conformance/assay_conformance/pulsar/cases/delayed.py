"""Delayed delivery, with ticks of 100 ms, so that an early delivery differs from a due one."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Case, Limits, Topic, Topology
from assay_conformance.model.policy import BrokerSettings, DelayedDelivery

TOPICS = (Topic(name="t", delayed_delivery=DelayedDelivery(tick_ms=100)),)
NEEDED = ("producer", "consumer", "delayed_delivery")
SHARED = {"subscription_type": "shared"}

FAR_MS = 4_102_444_800_123
"""The first moment of the year 2100, plus a few milliseconds that must not be rounded."""


def _out_of_order(words: str, title: str, *, strict: bool = False) -> Case:
    """Send messages that are due in another order than they are sent in, and one that is due at once."""
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    consumer = plan.consumer(client)
    for delay_ms in (1_500, 400, 1_000):
        plan.send(producer, deliver_after_ms=delay_ms)
    plan.send(producer)
    plan.receive(consumer, 4, wait=True)
    return plan.case(
        f"delayed/{words}",
        title,
        ("delayed.not-before-deliver-at-time",),
        capabilities=NEEDED,
        consumer=SHARED,
        topology=Topology(topics=TOPICS, settings=BrokerSettings(delayed_strict=strict)),
        limits=Limits(least_wall_ms=1_500),
    )


def due_in_other_order_than_sent() -> Case:
    title = "Messages with delays of 1.5 s, 0.4 s and 1 s, and one without"
    return _out_of_order("due-in-other-order-than-sent", title)


def strict_delivery_time() -> Case:
    title = "Messages with delays of 1.5 s, 0.4 s and 1 s, and one without, on a broker with strict delivery times"
    return _out_of_order("strict-delivery-time", title, strict=True)


def delayed_for_an_exclusive_consumer() -> Case:
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    consumer = plan.consumer(client)
    plan.send(producer, deliver_after_ms=900)
    plan.send(producer)
    plan.receive(consumer, 2, wait=True)
    return plan.case(
        "delayed/delayed-for-an-exclusive-consumer",
        "A delayed message and one without a delay are sent to an exclusive consumer",
        ("delayed.ignored-on-exclusive-and-failover",),
        capabilities=NEEDED,
        topology=Topology(topics=TOPICS),
    )


def broker_restarted_while_delayed() -> Case:
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    consumer = plan.consumer(client)
    plan.wait_ops(plan.send(producer, 2, deliver_after_ms=1_500), plan.send(producer))
    plan.receive(consumer, 3, timeout_ms=8_000)
    plan.wait_received(consumer, 1)
    plan.wait_ops(plan.ack(consumer, messages=[1]))
    plan.broker("restart")
    plan.wait_received(consumer, 3, deadline_ms=6_000)
    return plan.case(
        "delayed/broker-restarted-while-delayed",
        "The broker restarts while two messages are delayed",
        ("delayed.survives-restart",),
        capabilities=NEEDED,
        consumer=SHARED,
        topology=Topology(topics=TOPICS),
        limits=Limits(least_wall_ms=1_500),
    )


def deliver_after_and_deliver_at() -> Case:
    """Send with delays of a year, a millisecond and an hour; no consumer waits for the messages."""
    plan, producer = Schedule.with_producer()
    for delay_ms in (31_536_000_000, 1, 3_600_000):
        plan.send(producer, deliver_after_ms=delay_ms)
    plan.send(producer, deliver_at_ms=FAR_MS)
    plan.wait_ops()
    return plan.case(
        "delayed/deliver-after-and-deliver-at",
        "Messages are delayed by a delay and by a time of delivery",
        ("delayed.sets-deliver-at-time",),
        capabilities=("producer", "delayed_delivery"),
        topology=Topology(topics=TOPICS),
    )
