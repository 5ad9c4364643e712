"""Consumers that unsubscribe and are then closed."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule
from assay_conformance.model.case import Case, Topic, Topology

_TWO = Topology(topics=(Topic(name="news-a"), Topic(name="news-b")))


def _unsubscribed(words: str, title: str, topology: Topology, *capabilities: str, pattern: str = "") -> Case:
    """Unsubscribe a consumer that received what was sent, so each of its topics is in use."""
    plan = Schedule()
    client, names = plan.client(), [topic.name for topic in topology.topics]
    consumer = plan.consumer(client, names, pattern=pattern)
    for name in names:
        plan.wait_ops(plan.send(plan.producer(client, name), 4))
    plan.wait_ops(plan.receive(consumer, 4 * len(names), STARVED_MS))
    plan.wait_ops(plan.ack(consumer))
    plan.wait_ops(plan.agent("unsubscribe", {"consumer": consumer}))
    plan.wait_ops(plan.close(consumer))
    plan.wait_ops(plan.close(client))
    return plan.case(
        f"subscription/{words}",
        title,
        ("subscription.unsubscribe-ends-subscription", "subscription.closes-after-unsubscribe"),
        capabilities=("producer", "consumer", "unsubscribe", *capabilities),
        topology=topology,
        consumer=EARLIEST,
    )


CASES = (
    _unsubscribed(
        "unsubscribed-then-closed",
        "A consumer of one topic unsubscribes; it is closed, and then its client",
        Topology(),
    ),
    _unsubscribed(
        "unsubscribed-from-partitions",
        "A consumer of a topic with three partitions unsubscribes; it is closed, and then its client",
        Topology(topics=(Topic(name="t", partitions=3),)),
        "partitioned_topics",
    ),
    _unsubscribed(
        "unsubscribed-from-two-topics",
        "A consumer of two topics unsubscribes; it is closed, and then its client",
        _TWO,
    ),
    _unsubscribed(
        "unsubscribed-from-a-pattern",
        "A consumer of a pattern that two topics match unsubscribes; it is closed, and then its client",
        _TWO,
        "topic_patterns",
        pattern="news-.*",
    ),
)
"""Cases of the chapter subscription."""
