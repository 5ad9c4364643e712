"""Publish rates of a few messages a second, since a rate period is one second, and limits on pending sends."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Case, Limits, Rate, Tier, Topic, Topology
from assay_conformance.model.policy import BrokerSettings

PUBLISH = Topology(topics=(Topic(name="t", publish_rate=Rate(messages=20)),))


def publish_rate() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 60, size=64 * 1024))
    return plan.case(
        "throttling/publish-rate",
        "Sixty messages are published at once with a publish rate of twenty a second",
        ("throttling.publish-rate-holds",),
        topology=PUBLISH,
        limits=Limits(least_wall_ms=2_000),
    )


def broker_publish_rate() -> Case:
    plan, client = Schedule.with_client()
    one, other = plan.producer(client, "t"), plan.producer(client, "u")
    plan.wait_ops(plan.send(one, 30, size=64 * 1024), plan.send(other, 30, size=64 * 1024))
    return plan.case(
        "throttling/broker-publish-rate",
        "Thirty messages are published to each of two topics of a broker with a publish rate of twenty a second",
        ("throttling.publish-rate-holds",),
        topology=Topology(
            topics=(Topic(name="t"), Topic(name="u")), settings=BrokerSettings(publish_rate=Rate(messages=20))
        ),
        limits=Limits(least_wall_ms=2_000),
    )


def too_many_pending_publishes() -> Case:
    plan = Schedule()
    with plan.held():
        producer = plan.producer(plan.client())
        sends = plan.send(producer, 60, size=64 * 1024)
        plan.wait_sends(20)
        plan.wait_ms(200)
    plan.wait_ops(sends)
    return plan.case(
        "throttling/too-many-pending-publishes",
        "Sixty messages arrive while nothing can be stored, and twenty may be pending",
        ("throttling.pending-publishes-pause-reads",),
        topology=Topology(settings=BrokerSettings(max_pending_sends=20)),
    )


def publish_buffer_full() -> Case:
    """Fill the publish buffer over two connections: neither reaches the limit alone, but both do together."""
    plan = Schedule()
    with plan.held():
        producers = [plan.producer(plan.client()) for _ in range(2)]
        sends = [plan.send(producer, 60, size=64 * 1024) for producer in producers]
        plan.wait_sends(17)
        plan.wait_ms(200)
    plan.wait_ops(*sends)
    return plan.case(
        "throttling/publish-buffer-full",
        "Two connections send 8 MB while nothing can be stored, and 1 MB may be pending",
        ("throttling.publish-buffer-pauses-reads",),
        topology=Topology(settings=BrokerSettings(max_pending_mb=1)),
    )


def ten_periods_of_publishing() -> Case:
    """Send 240 messages: the available tokens suffice for twenty, and the others take eleven seconds."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 240, size=16 * 1024), deadline_ms=30_000)
    return plan.case(
        "throttling/publish-rate-for-ten-periods",
        "240 messages are published at once with a publish rate of twenty a second: no faster, no slower",
        ("throttling.publish-rate-holds",),
        topology=PUBLISH,
        limits=Limits(operation_ms=30_000, case_ms=50_000, least_wall_ms=10_500),
        tier=Tier.FULL,
    )
