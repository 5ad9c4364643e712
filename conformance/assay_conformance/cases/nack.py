"""Cases for negative acknowledgment: when redelivery is asked for, of what, and what an ack in between changes."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import batch, plains
from assay_conformance.model.case import Case, Config, Limits
from assay_conformance.model.fault import Direction

DELAY_MS = 300
SHARED: Config = {"initial_position": "earliest", "subscription_type": "shared", "nack_delay_ms": DELAY_MS}
EXCLUSIVE: Config = {**SHARED, "subscription_type": "exclusive"}

REQUESTED_MS = 1_000
"""Delay, the widest tick and tolerance, and some more: what has not been asked for by then was not going to be."""

WINDOW_OVER_MS = 2 * DELAY_MS

REDELIVER = "REDELIVER_UNACKNOWLEDGED_MESSAGES"


def one_of_three() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(3)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 3)
    plan.wait_ops()
    plan.nack(consumer, numbers=[1])
    plan.ack(consumer, numbers=[0, 2])
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.receive(consumer, 1, timeout_ms=2_000)
    plan.wait_ops()
    return plan.case(
        "nack/one-of-three",
        "One message of three is refused on a shared subscription",
        ("nack.redelivered-in-window",),
        consumer=SHARED,
        limits=Limits(least_wall_ms=DELAY_MS),
    )


def first_of_three_exclusive() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(3)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 3)
    plan.wait_ops()
    plan.nack(consumer, numbers=[0])
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.receive(consumer, 3, timeout_ms=2_000)
    plan.wait_ops()
    return plan.case(
        "nack/first-of-three-exclusive",
        "The first message of three is refused on an exclusive subscription",
        ("nack.redelivered-in-window",),
        consumer=EXCLUSIVE,
        limits=Limits(least_wall_ms=DELAY_MS),
    )


def batch_member() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=[batch(range(3)), *plains([3])])
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 4)
    plan.wait_ops()
    plan.nack(consumer, numbers=[1])
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.receive(consumer, 3, timeout_ms=2_000)
    plan.wait_ops()
    return plan.case(
        "nack/batch-member",
        "The middle message of a batch of three is refused",
        ("nack.whole-entry",),
        consumer={**SHARED, "batch_index_ack": False},
        limits=Limits(least_wall_ms=DELAY_MS),
    )


def then_acked() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(2)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 2)
    plan.wait_ops()
    plan.nack(consumer, numbers=[0])
    plan.ack(consumer, numbers=[0, 1])
    plan.wait_ms(WINDOW_OVER_MS)
    plan.receive(consumer, 1, timeout_ms=100)
    plan.wait_ops()
    return plan.case(
        "nack/then-acked",
        "A refused message is acknowledged before its delay is over",
        ("nack.acked-not-redelivered",),
        consumer=SHARED,
        limits=Limits(least_wall_ms=WINDOW_OVER_MS),
    )


def then_acked_exclusive() -> Case:
    """The REDELIVER of an exclusive consumer names nothing and brings back all that is open, and only that."""
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(3)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 3)
    plan.wait_ops()
    plan.nack(consumer, numbers=[0, 1])
    plan.ack(consumer, numbers=[0])
    plan.wait_ms(WINDOW_OVER_MS)
    plan.receive(consumer, 3, timeout_ms=100)
    plan.wait_ops()
    return plan.case(
        "nack/then-acked-exclusive",
        "Two messages are refused, one of them is acknowledged, on an exclusive subscription",
        ("nack.acked-not-redelivered",),
        consumer=EXCLUSIVE,
        limits=Limits(least_wall_ms=WINDOW_OVER_MS),
    )


def refused_three_times() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(2)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 2)
    plan.wait_ops()
    for _ in range(3):
        plan.nack(consumer, numbers=[0])
        plan.receive(consumer, 1, timeout_ms=2_000)
        plan.wait_ops()
    return plan.case(
        "nack/refused-three-times",
        "The same message is refused three times on a shared subscription",
        ("nack.redeliveries-counted",),
        consumer={**SHARED, "nack_delay_ms": 100},
        limits=Limits(least_wall_ms=3 * 100),
    )


CASES = (
    one_of_three(),
    first_of_three_exclusive(),
    batch_member(),
    then_acked(),
    then_acked_exclusive(),
    refused_three_times(),
)
