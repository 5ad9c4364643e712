"""Cases in which the application calls for redelivery of everything that it has not acknowledged."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import batch, chunks, plains
from assay_conformance.model.case import Case, Limits, Topic, Topology
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.cases.nack.requests import EXCLUSIVE, REDELIVER, SHARED

REQUESTED = "nack.redeliver-all-requested"
CALLED = ("redeliver_all",)
WAIT_MS = 1_000
"""No timer is involved."""
STARVED_MS = 4_500
"""A client that looks at its queue once a second needs as long to take what a queue of four has twice."""


def _called(words: str, title: str, count: int, *, topics: tuple[str, ...] = ("t",), partitions: int = 0) -> Case:
    """Call for everything after all but the first message are acknowledged, once on each topic or partition."""
    plan, topology = Schedule(), Topology(topics=tuple(Topic(name=name, partitions=partitions) for name in topics))
    parts = [f"t-partition-{number}" for number in range(partitions)] or list(topics)
    for number, part in enumerate(parts):
        plan.broker("store_entries", topic=part, entries=plains(range(number * count, (number + 1) * count)))
    consumer = plan.consumer(plan.client(), topics)
    plan.wait_ops(plan.receive(consumer, count * len(parts), timeout_ms=2_000))
    firsts = [number * count for number in range(len(parts))]
    plan.wait_ops(plan.ack(consumer, numbers=[one for one in range(count * len(parts)) if one not in firsts]))
    plan.redeliver_all(consumer)
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, count=len(parts), deadline_ms=WAIT_MS)
    plan.receive(consumer, len(parts), timeout_ms=2_000)
    plan.wait_ops()
    return plan.case(f"nack/{words}", title, (REQUESTED,), consumer=SHARED, topology=topology)


def redeliver_all() -> Case:
    return _called(
        "redeliver-all", "The application calls for redelivery of all, with one of three messages unacknowledged", 3
    )


def redeliver_all_on_each_partition() -> Case:
    return _called(
        "redeliver-all-on-each-partition",
        "The application calls for redelivery of all, with a message of each of three partitions unacknowledged",
        2,
        partitions=3,
    )


def redeliver_all_on_each_topic() -> Case:
    return _called(
        "redeliver-all-on-each-topic",
        "The application calls for redelivery of all, with a message of each of two topics unacknowledged",
        2,
        topics=("t", "u"),
    )


def _exclusive(words: str, title: str, *, receives: int, again: int) -> Case:
    plan, consumer = Schedule.with_consumer_of([*plains(range(8)), batch(range(8, 10))], receives=receives)
    plan.redeliver_all(consumer)
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=WAIT_MS)
    plan.receive(consumer, again, timeout_ms=2_000)
    plan.wait_ops()
    requirements = ("nack.exclusive-redelivers-all-in-order",)
    return plan.case(f"nack/{words}", title, requirements, consumer=EXCLUSIVE, capabilities=CALLED)


def redeliver_all_in_order() -> Case:
    return _exclusive(
        "redeliver-all-in-order",
        "The application calls for redelivery of all on an exclusive subscription, with none of ten messages waiting",
        receives=10,
        again=10,
    )


def redeliver_all_with_queue() -> Case:
    return _exclusive(
        "redeliver-all-with-queue",
        "The application calls for redelivery of all on an exclusive subscription while eight messages wait",
        receives=2,
        again=18,
    )


def redeliver_all_with_full_queue() -> Case:
    """Call with messages in the queue, which a client may drop or deliver once more; every client drops a chunk."""
    plan, consumer = Schedule.with_consumer_of([*plains(range(6)), *chunks(6, 2)], receives=1)
    plan.redeliver_all(consumer)
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=WAIT_MS)
    plan.receive(consumer, 2 * 7, timeout_ms=STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "nack/redeliver-all-with-full-queue",
        "The application calls for redelivery of all while a queue of four is full and more messages lie at the broker",
        (REQUESTED, "flow.dropped-message-returns-permit"),
        consumer={**SHARED, "receiver_queue_size": 4},
        capabilities=(*CALLED, "chunking_consumer"),
        limits=Limits(least_wall_ms=STARVED_MS),
    )


def redeliver_all_beside_waiting_receive() -> Case:
    """Call while a receive waits, which ends with what the application has not acknowledged."""
    plan, consumer = Schedule.with_consumer_of(plains(range(2)), receives=2)
    waiting = plan.receive(consumer, 2, timeout_ms=3_000)
    plan.redeliver_all(consumer)
    plan.wait_ops(waiting)
    plan.ack(consumer)
    plan.wait_ops()
    return plan.case(
        "nack/redeliver-all-beside-waiting-receive",
        "The application calls for redelivery of all while a receive waits",
        (REQUESTED,),
        consumer=SHARED,
    )


def redeliver_all_after_acks() -> Case:
    """Call before acknowledgments are flushed: the broker delivers those messages again, the client filters them."""
    plan, consumer = Schedule.with_consumer_of(plains(range(4)), receives=4)
    plan.wait_ops(plan.ack(consumer, numbers=[0, 2]))
    plan.redeliver_all(consumer)
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=WAIT_MS)
    plan.receive(consumer, 4, timeout_ms=800)
    plan.wait_ops()
    return plan.case(
        "nack/redeliver-all-after-acks",
        "The application acknowledges two messages of four, and calls for redelivery of all before these ACKs leave",
        (REQUESTED, "ack.grouped-ack-filters-redelivery"),
        consumer={**SHARED, "ack_group_time_ms": 3_000},
        capabilities=(*CALLED, "immediate_ack"),
        limits=Limits(least_wall_ms=800),
    )
