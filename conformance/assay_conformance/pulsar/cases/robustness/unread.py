"""Consumers that are not received from: their queues fill, their topics move, and then they are received from, closed
or unsubscribed.
"""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.topic_names import part_names

FULL_MS = 400
"""The time in which the queue of a consumer that is not received from fills."""
SENT = 6
QUEUE = 2
READ, CLOSED, LEFT, LISTENS = "read", "closed", "left", "listens"


def unread_consumers() -> Case:
    """Close consumers of one client with full queues; the next consumers get those messages."""
    plan = Schedule()
    for topic in (READ, *part_names(CLOSED, range(2)), LEFT, LISTENS):
        plan.broker("store_entries", topic=topic, entries=plains(range(SENT)))
    client = plan.client()
    read, closed, left = (plan.consumer(client, topic) for topic in (READ, CLOSED, LEFT))
    listens = plan.consumer(client, LISTENS, listener=True)
    plan.wait_ms(FULL_MS)
    for topic in (READ, LEFT, LISTENS):
        plan.broker("unload", topic=topic)
    plan.wait_ms(STARVED_MS)
    plan.wait_ops(plan.receive(read, SENT, STARVED_MS))
    plan.wait_ops(plan.ack(read))
    plan.wait_ops(plan.close(closed))
    plan.wait_ops(plan.agent("unsubscribe", {"consumer": left}))
    for handle in (left, listens, client):
        plan.wait_ops(plan.close(handle))
    after = plan.client()
    for topic, count in ((CLOSED, 2 * SENT), (LISTENS, SENT)):
        plan.wait_ops(plan.receive(plan.consumer(after, topic), count, STARVED_MS))
    return plan.case(
        "robustness/unread-consumers",
        "Four consumers with full queues are not received from; topics are unloaded; then one is received from, two "
        "are closed, one of them with a handler, and one unsubscribes",
        (
            "robustness.calls-do-not-hang",
            "delivery.reaches-waiting-receive",
            "flow.permits-within-queue",
            "ordering.delivers-in-message-id-order",
        ),
        capabilities=("consumer", "partitioned_topics", "unsubscribe", "message_listener"),
        consumer={**EARLIEST, "receiver_queue_size": QUEUE},
        topology=Topology(
            topics=(Topic(name=READ), Topic(name=CLOSED, partitions=2), Topic(name=LEFT), Topic(name=LISTENS))
        ),
    )
