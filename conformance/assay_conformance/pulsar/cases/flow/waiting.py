"""Receives that wait while their consumer loses its session: it has to grant permits again."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, up
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Limits, Topic, Topology
from assay_conformance.model.fault import AfterStep, AnswerError, Cut, Direction, Fault

PARTITIONS = 3
WAITS_MS = 2_500
"""The time-out of a receive: it outlasts the loss, and any answer after that."""

AS_LONG = Limits(least_wall_ms=WAITS_MS)


def _one_on_each_partition(plan: Schedule) -> None:
    for partition in range(PARTITIONS):
        entries = plains(range(partition, partition + 1))
        plan.broker("store_entries", topic=f"t-partition-{partition}", entries=entries)


def partitions_across_reconnect() -> Case:
    """Let all partitions reconnect; the receive asks for one message more than there are."""
    plan, consumer = Schedule.with_consumer()
    plan.receive(consumer, PARTITIONS + 1, WAITS_MS)
    asked = plan.last
    plan.wait_fired(0)
    plan.wait_frame("SUCCESS", Direction.TO_CLIENT, 2 * PARTITIONS)
    _one_on_each_partition(plan)
    plan.wait_ops()
    return plan.case(
        "flow/partitions-across-reconnect",
        "A consumer of three partitions loses its connection while a receive waits",
        ("flow.waiting-receive-has-permits",),
        capabilities=("consumer", "partitioned_topics"),
        topology=Topology(topics=(Topic(name="t", partitions=PARTITIONS),)),
        consumer={**EARLIEST, "receiver_queue_size": 4},
        faults=(Fault(trigger=AfterStep(asked), action=Cut()),),
        limits=AS_LONG,
    )


def _more_than_a_queue(words: str, title: str, *, refusals: int = 0) -> Case:
    """Send more messages after a loss than the queue holds, so that granting permits once is not enough. Without
    refusals the loss is an unload.
    """
    plan, consumer = Schedule.with_consumer()
    plan.receive(consumer, 8, WAITS_MS)
    lost = Fault(trigger=AfterStep(plan.last), action=Cut())
    refused = Fault(trigger=up("SUBSCRIBE", k=2, times=refusals), action=AnswerError("ServiceNotReady"))
    if not refusals:
        plan.broker("unload", topic="t")
    plan.wait_frame("SUCCESS", Direction.TO_CLIENT, 2)
    plan.broker("store_entries", topic="t", entries=plains(range(7)))
    plan.wait_ops()
    return plan.case(
        f"flow/{words}",
        title,
        ("flow.waiting-receive-has-permits",),
        capabilities=("consumer",),
        consumer={**EARLIEST, "receiver_queue_size": 3},
        faults=(lost, refused) if refusals else (),
        limits=AS_LONG,
    )


def receive_across_seek() -> Case:
    """Seek during a receive: three messages are delivered a second time; the receive asks for one more than there
    are."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(7)))
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.wait_ops(plan.seek(consumer, delivery=1))
    plan.wait_ops(plan.receive(consumer, 8, STARVED_MS))
    return plan.case(
        "flow/receive-across-seek",
        "A consumer with a queue of three seeks back to the first of seven messages, and receives all of them",
        ("flow.waiting-receive-has-permits",),
        consumer={**EARLIEST, "receiver_queue_size": 3, "start_inclusive": True},
    )


CASES = (
    partitions_across_reconnect(),
    _more_than_a_queue(
        "receive-across-refusals",
        "A consumer is refused twice when it reconnects, while a receive waits",
        refusals=2,
    ),
    _more_than_a_queue("receive-across-unload", "The topic of a consumer is unloaded while a receive waits"),
    receive_across_seek(),
)
