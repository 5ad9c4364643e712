"""Cases for negative acknowledgment while more messages wait in the client."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import batch, plains
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.cases.nack.requests import DELAY_MS, PASSED_MS, REDELIVER, REQUESTED_MS, SHARED


def more_in_queue() -> Case:
    """Nack the first message of a batch while the rest of it, and other messages, wait in the client."""
    plan, consumer = Schedule.with_consumer_of([batch(range(2)), *plains(range(2, 5))], receives=1)
    plan.nack(consumer, numbers=[0])
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.wait_ms(PASSED_MS)
    plan.wait_ops(plan.receive(consumer, 6, timeout_ms=600))
    return plan.case(
        "nack/more-in-queue",
        "The first message of a batch is nacked while the second and three other messages wait in the client",
        ("nack.asks-for-what-was-given",),
        consumer={**SHARED, "batch_index_ack": False},
        limits=Limits(least_wall_ms=DELAY_MS),
    )
