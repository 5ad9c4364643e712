"""Cases for closes of what is registered on several topics and partitions, on a connection that stays."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule
from assay_conformance.model.case import Case, Topic, Topology

REACHES_ALL = ("connection.close-reaches-all",)
_CLOSES = ("producer", "consumer")


def _closed_beside_another(topics: list[str]) -> Schedule:
    """Close a producer and a consumer of these topics, whose client goes on with others on topic `other`."""
    plan, client = Schedule.with_client()
    consumer, producers = plan.consumer(client, topics), [plan.producer(client, topic) for topic in topics]
    kept = plan.consumer(client, "other")
    for producer in producers:
        plan.wait_ops(plan.send(producer, 3))
    plan.wait_ops(plan.receive(consumer, 3 * len(topics), STARVED_MS))
    plan.wait_ops(plan.ack(consumer))
    plan.wait_ops(*(plan.close(handle) for handle in (consumer, *producers)))
    plan.wait_ms(STARVED_MS)
    plan.wait_ops(plan.send(plan.producer(client, "other")))
    plan.wait_ops(plan.receive(kept, 1, STARVED_MS))
    return plan


def partitions_closed() -> Case:
    return _closed_beside_another(["t"]).case(
        "connection/partitions-closed",
        "A producer and a consumer of three partitions are closed, and their client goes on",
        REACHES_ALL,
        capabilities=(*_CLOSES, "partitioned_topics"),
        producer={"routing": "round_robin", "batching": False},
        consumer=EARLIEST,
        topology=Topology(topics=(Topic(name="t", partitions=3), Topic(name="other"))),
    )


def topics_closed() -> Case:
    return _closed_beside_another(["t", "u"]).case(
        "connection/topics-closed",
        "A consumer of two topics and a producer of each are closed, and their client goes on",
        REACHES_ALL,
        capabilities=_CLOSES,
        consumer=EARLIEST,
        topology=Topology(topics=(Topic(name="t"), Topic(name="u"), Topic(name="other"))),
    )
