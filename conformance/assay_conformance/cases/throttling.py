"""Throttling: rates of a few messages a second, since a period is a whole second at least."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import plain, plains
from assay_conformance.model.case import Case, Limits, Rate, Topic, Topology
from assay_conformance.model.fault import Direction

DISPATCH = Topology(topics=(Topic(name="t", dispatch_rate=Rate(messages=10)),))
PUBLISH = Topology(topics=(Topic(name="t", publish_rate=Rate(messages=20)),))


def backlog_at_the_dispatch_rate() -> Case:
    plan = Schedule()
    client = plan.client()
    plan.wait_ops(plan.send(plan.producer(client), 60))
    consumer = plan.consumer(client)
    plan.receive(consumer, 30)
    plan.wait_received(consumer, 30)
    return plan.case(
        "throttling/backlog-at-the-dispatch-rate",
        "Of a backlog of sixty messages ten are dispatched a second",
        ("throttling.dispatch-rate-holds", "throttling.reads-within-quota"),
        capabilities=("producer",),
        topology=DISPATCH,
        limits=Limits(least_wall_ms=2_000),
    )


def overshoot_is_repaid() -> Case:
    """An entry of thirty messages takes the tokens of three periods, and the next entry has to wait for them."""
    plan = Schedule()
    client = plan.client()
    producer = plan.producer(client, batching=True, batching_max_messages=30, batching_max_publish_delay_ms=500)
    consumer = plan.consumer(client)
    plan.receive(consumer, 31)
    plan.send(producer, 30)
    plan.flush(producer)
    plan.wait_received(consumer, 30)
    plan.send(producer)
    plan.flush(producer)
    plan.wait_received(consumer, 31)
    return plan.case(
        "throttling/overshoot-is-repaid",
        "Thirty messages of ten leave at once, and nothing in the next two periods",
        ("throttling.repays-overshoot",),
        capabilities=("producer", "batching"),
        topology=DISPATCH,
        limits=Limits(least_wall_ms=3_000),
    )


def publishing_beyond_the_rate() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.wait_ops(plan.send(producer, 60, size=64 * 1024))
    return plan.case(
        "throttling/publishing-beyond-the-rate",
        "Sixty messages are published at once, where twenty a second are allowed",
        ("throttling.publish-rate-holds",),
        topology=PUBLISH,
        limits=Limits(least_wall_ms=2_000),
    )


def backlog_at_the_byte_rate() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=[plain(number, 1_000) for number in range(60)])
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 30)
    plan.wait_received(consumer, 30)
    return plan.case(
        "throttling/backlog-at-the-byte-rate",
        "Of a backlog of sixty messages of a thousand bytes ten thousand bytes are dispatched a second",
        ("throttling.byte-rate-holds",),
        capabilities=("consumer",),
        topology=Topology(topics=(Topic(name="t", dispatch_rate=Rate(bytes=10_000)),)),
        limits=Limits(least_wall_ms=2_000),
    )


def tighter_of_two_rates() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(60)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 25)
    plan.wait_received(consumer, 25)
    return plan.case(
        "throttling/tighter-of-two-rates",
        "Ten messages a second and a million bytes: the messages are used up first",
        ("throttling.messages-and-bytes-together",),
        capabilities=("consumer",),
        topology=Topology(topics=(Topic(name="t", dispatch_rate=Rate(messages=10, bytes=1_000_000)),)),
        limits=Limits(least_wall_ms=2_000),
    )


def refused_again_and_again() -> Case:
    """Asked for five times in a second, when the rate gives them twice."""
    plan = Schedule()
    consumer = plan.consumer_of(plains(range(10)), receives=10)
    for _ in range(5):
        plan.nack(consumer, numbers=list(range(10)))
        plan.receive(consumer, 10, timeout_ms=200)
        plan.wait_ms(180)
    plan.wait_frame("MESSAGE", Direction.TO_CLIENT, 20, deadline_ms=3_000)
    return plan.case(
        "throttling/refused-again-and-again",
        "Ten messages, the tokens of a second, are refused again and again",
        ("throttling.redelivered-count-again",),
        capabilities=("consumer", "nack_delay"),
        topology=DISPATCH,
        consumer={"subscription_type": "shared", "nack_delay_ms": 100},
        limits=Limits(least_wall_ms=1_500),
    )


CASES = (
    backlog_at_the_dispatch_rate(),
    backlog_at_the_byte_rate(),
    tighter_of_two_rates(),
    refused_again_and_again(),
    overshoot_is_repaid(),
    publishing_beyond_the_rate(),
)
