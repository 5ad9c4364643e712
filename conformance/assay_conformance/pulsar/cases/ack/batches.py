"""Cases for acknowledging messages of batches, with and without batch-index acknowledgment."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, down
from assay_conformance.cases.stored import batch, plains
from assay_conformance.model.case import Case, Config
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault, Hold, Until
from assay_conformance.pulsar.cases.ack.grouping import FLUSHED_MS, GROUPED, HOLDING

WHOLE_BATCHES: Config = {**GROUPED, "batch_index_ack": False}
BY_INDEX: Config = {**GROUPED, "batch_index_ack": True, "subscription_type": "shared"}


def batch_partly_acked() -> Case:
    plan, consumer = Schedule.with_consumer_of([batch(range(4))], receives=4)
    plan.ack(consumer, numbers=[0, 1, 2])
    plan.wait_ms(FLUSHED_MS)
    plan.ack(consumer, numbers=[3])
    plan.wait_frame("ACK", Direction.TO_BROKER, deadline_ms=1_000)
    return plan.case(
        "ack/batch-partly-acked",
        "Three messages of a batch of four are acknowledged, and the fourth later",
        ("ack.whole-batch-only",),
        consumer=WHOLE_BATCHES,
    )


def partly_acked_batch_redelivered() -> Case:
    """Acknowledge three of four messages of a batch: the fourth must be redelivered."""
    plan, consumer = Schedule.with_consumer_of([batch(range(4))], receives=4)
    plan.ack(consumer, numbers=[0, 1, 2])
    plan.wait_ms(FLUSHED_MS)
    lost = plan.last
    plan.wait_received(consumer, 4)
    plan.receive(consumer, 4)
    plan.wait_ops()
    plan.ack(consumer)
    plan.wait_frame("ACK", Direction.TO_BROKER, deadline_ms=1_000)
    return plan.case(
        "ack/partly-acked-batch-redelivered",
        "The connection is lost after three messages of a batch of four were acknowledged",
        ("ack.whole-batch-only",),
        consumer=WHOLE_BATCHES,
        faults=(Fault(trigger=AfterStep(step=lost), action=Cut()),),
    )


def cumulative_inside_batch() -> Case:
    """Acknowledge cumulatively up to the second message of four, then the third, and then the last."""
    plan, consumer = Schedule.with_consumer_of([*plains(range(2)), batch(range(2, 6)), *plains([6])], receives=7)
    plan.ack(consumer, numbers=[3], cumulative=True)
    plan.wait_ms(FLUSHED_MS)
    plan.ack(consumer, numbers=[4], cumulative=True)
    plan.wait_ms(FLUSHED_MS)
    plan.ack(consumer, numbers=[5], cumulative=True)
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/cumulative-inside-batch",
        "Cumulative acknowledgments of the second, third and last message of a batch of four",
        ("ack.cumulative-inside-batch",),
        consumer=WHOLE_BATCHES,
    )


def batch_index_one_by_one() -> Case:
    plan, consumer = Schedule.with_consumer_of([batch(range(4))], receives=4)
    for numbers in ([1], [0, 3], [2]):
        plan.ack(consumer, numbers=numbers)
        plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/batch-index-one-by-one",
        "The messages of a batch are acknowledged in three steps, with batch-index acknowledgment",
        ("ack.batch-index-ack-set",),
        consumer=BY_INDEX,
    )


def cumulative_inside_batch_by_index() -> Case:
    plan, consumer = Schedule.with_consumer_of([*plains([0]), batch(range(1, 5)), *plains([5])], receives=6)
    for number in (2, 3, 4):
        plan.ack(consumer, numbers=[number], cumulative=True)
        plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/cumulative-inside-batch-by-index",
        "Cumulative acknowledgments of the second, third and last message of a batch of four, by index",
        ("ack.batch-index-ack-set",),
        capabilities=("cumulative_ack",),
        consumer={**GROUPED, "batch_index_ack": True},
    )


def rest_of_batch_redelivered() -> Case:
    """Acknowledge two of four before the connection is lost: the entry is redelivered with an ack_set."""
    plan, consumer = Schedule.with_consumer_of([batch(range(4))], receives=4)
    plan.ack(consumer, numbers=[0, 2])
    plan.wait_frame("ACK", Direction.TO_BROKER)
    plan.wait_ms(50)
    lost = plan.last
    plan.receive(consumer, 4, timeout_ms=1_000)
    plan.wait_ops()
    plan.ack(consumer)
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/rest-of-batch-redelivered",
        "The connection is lost after two messages of a batch of four were acknowledged by index",
        ("ack.ack-set-filters-delivery", "ack.batch-index-ack-set"),
        consumer=BY_INDEX,
        faults=(Fault(trigger=AfterStep(step=lost), action=Cut()),),
    )


def batch_redelivered_while_ack_grouped() -> Case:
    """Nack the first message of a batch; the acks of the two others are held until long after the redelivery of the
    batch."""
    plan, consumer = Schedule.with_consumer_of([batch(range(3))], receives=3)
    plan.nack(consumer, numbers=[0])
    plan.wait_ops(plan.ack(consumer, numbers=[1, 2]))
    taken = plan.last
    plan.wait_frame("MESSAGE", Direction.TO_CLIENT, count=2, deadline_ms=1_500)
    plan.wait_ops(plan.receive(consumer, 3, timeout_ms=FLUSHED_MS))
    return plan.case(
        "ack/batch-redelivered-while-ack-grouped",
        "Two messages of a batch are acknowledged; the nack of the third redelivers the batch before their ACK is sent",
        ("ack.grouped-ack-filters-batch-member",),
        consumer={**HOLDING, "batch_index_ack": True},
        faults=(Fault(trigger=down("MESSAGE", k=2), action=Hold(), until=Until(step=taken), optional=True),),
        # This capability says that the interval can be set.
        capabilities=("batch_index_ack", "immediate_ack"),
    )


CASES = (
    batch_partly_acked(),
    partly_acked_batch_redelivered(),
    cumulative_inside_batch(),
    batch_index_one_by_one(),
    rest_of_batch_redelivered(),
    cumulative_inside_batch_by_index(),
    batch_redelivered_while_ack_grouped(),
)
