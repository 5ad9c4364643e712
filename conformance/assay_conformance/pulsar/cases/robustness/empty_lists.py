"""Empty input: no topics to subscribe to, no messages to acknowledge or to send. A client may refuse an empty list, as
Java's does, or accept it, as C++ makes a consumer of no topic; every call has to end, and others of the client go on.
"""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, up
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.fault import AnswerError, Fault


def no_topics() -> Case:
    plan, client = Schedule.with_client(stored=plains(range(3)))
    consumer = plan.consumer(client, ())
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS // 4))
    plan.wait_ops(plan.close(consumer))
    beside = plan.consumer(client, "t", "beside")
    plan.wait_ops(plan.receive(beside, 3, STARVED_MS))
    plan.wait_ops(plan.close(client))
    return plan.case(
        "robustness/no-topics",
        "A client subscribes to an empty list of topics, and then to a topic",
        ("robustness.calls-do-not-hang",),
        capabilities=("consumer",),
        consumer=EARLIEST,
    )


def no_messages() -> Case:
    plan, consumer = Schedule.with_consumer(stored=plains(range(3)))
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    for cumulative in ({}, {"cumulative": True}):
        plan.wait_ops(plan.agent("ack", {"consumer": consumer, "messages": [], **cumulative}))
    plan.wait_ops(plan.ack(consumer))
    plan.wait_ops(plan.close(consumer))
    return plan.case(
        "robustness/no-messages",
        "A consumer acknowledges an empty list of messages, and then those that it has received",
        ("robustness.calls-do-not-hang",),
        capabilities=("consumer",),
        consumer=EARLIEST,
    )


def nothing_sent() -> Case:
    """Close a producer whose partitions open only at their first use: no call waits for them."""
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    plan.wait_ops(plan.flush(producer))
    plan.wait_ops(plan.close(producer))
    plan.wait_ops(plan.close(client))
    return plan.case(
        "robustness/nothing-sent",
        "A producer that starts lazily sends nothing, is flushed and closed",
        ("robustness.calls-do-not-hang",),
        capabilities=("producer", "partitioned_topics", "lazy_start"),
        producer={"lazy_start_partitioned_producers": True},
        topology=Topology(topics=(Topic(name="t", partitions=3),)),
    )


def nothing_opened() -> Case:
    """Refuse the only partition that opens at first: the producer is closed without any partition."""
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    plan.wait_ops(plan.close(producer))
    plan.wait_ops(plan.close(client))
    return plan.case(
        "robustness/nothing-opened",
        "A producer that starts lazily is refused, and closed",
        ("robustness.calls-do-not-hang",),
        capabilities=("producer", "partitioned_topics", "lazy_start"),
        producer={"lazy_start_partitioned_producers": True},
        topology=Topology(topics=(Topic(name="t", partitions=3),)),
        faults=(Fault(trigger=up("PRODUCER"), action=AnswerError("AuthorizationError")),),
    )
