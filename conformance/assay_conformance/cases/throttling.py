"""Throttling: rates of a few messages a second, since a period is a whole second at least."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Case, Limits, Rate, Topic, Topology

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
        ("throttling.dispatch-rate-holds",),
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


CASES = (backlog_at_the_dispatch_rate(), overshoot_is_repaid(), publishing_beyond_the_rate())
