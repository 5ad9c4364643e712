"""Cases for acknowledgment: grouping, cumulative order, close, and batches without batch-index acks.

The group interval is 100 ms wherever a client lets it be set, as it is fixed in some.
"""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import batch, plains
from assay_conformance.model.case import Case, Config
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault

GROUPED: Config = {"initial_position": "earliest", "ack_group_ms": 100, "ack_group_max": 1_000}
WHOLE_BATCHES: Config = {**GROUPED, "batch_index_ack": False}

FLUSHED_MS = 300
"""A group interval, its tolerance, and some more: what has not left by then was not going to."""

MOMENT_MS = 12
"""Between two acks that one group must collect, and that a client without groups sends apart."""

STEADY_MS = 60
"""Less than a group interval: a timer that every ack arms anew never fires."""


def one_interval() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(10)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 10)
    plan.wait_ops()
    plan.ack(consumer, numbers=range(5))
    plan.wait_ms(FLUSHED_MS)
    for number in range(5, 10):
        plan.ack(consumer, numbers=[number])
        plan.wait_ms(MOMENT_MS)
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/one-interval",
        "Five acks at once, then five within one group interval",
        ("ack.flushed-in-time",),
        consumer=GROUPED,
    )


def steady_acks() -> Case:
    """An ack more than once in every interval must not put off those before it."""
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(8)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 8)
    plan.wait_ops()
    for number in range(8):
        plan.ack(consumer, numbers=[number])
        plan.wait_ms(STEADY_MS)
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/steady-acks",
        "Eight acks, 60 ms apart, with a group interval of 100 ms",
        ("ack.flushed-in-time",),
        consumer=GROUPED,
    )


def cumulative_out_of_order() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(10)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 10)
    plan.wait_ops()
    plan.ack(consumer, numbers=[4, 8, 6], cumulative=True)
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/cumulative-out-of-order",
        "Cumulative acks of messages 4, 8 and 6 within one group interval",
        ("ack.cumulative-keeps-greatest",),
        consumer=GROUPED,
    )


def close_with_pending_acks() -> Case:
    """Three times, for once may fall on the very moment of a flush."""
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(3)))
    client = plan.client()
    for subscription in ("first", "second", "third"):
        consumer = plan.consumer(client, subscription=subscription)
        plan.receive(consumer, 3)
        plan.wait_ops()
        plan.ack(consumer)
        plan.close(consumer)
        plan.wait_ops()
    return plan.case(
        "ack/close-with-pending-acks",
        "Three consumers acknowledge and are closed at once",
        ("ack.flushed-on-close",),
        consumer=GROUPED,
    )


def batch_half_settled() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=[batch(range(4))])
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 4)
    plan.wait_ops()
    plan.ack(consumer, numbers=[0, 1, 2])
    plan.wait_ms(FLUSHED_MS)
    plan.ack(consumer, numbers=[3])
    plan.wait_frame("ACK", Direction.TO_BROKER, deadline_ms=1_000)
    return plan.case(
        "ack/batch-half-settled",
        "Three messages of a batch of four are acknowledged, the last one later",
        ("ack.whole-batch-only",),
        consumer=WHOLE_BATCHES,
    )


def half_settled_batch_redelivered() -> Case:
    """What is at stake: the message that was not acknowledged must come again."""
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=[batch(range(4))])
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 4)
    plan.wait_ops()
    plan.ack(consumer, numbers=[0, 1, 2])
    plan.wait_ms(FLUSHED_MS)
    lost = plan.last
    plan.wait_received(consumer, 4)
    plan.receive(consumer, 4)
    plan.wait_ops()
    plan.ack(consumer)
    plan.wait_frame("ACK", Direction.TO_BROKER, deadline_ms=1_000)
    return plan.case(
        "ack/half-settled-batch-redelivered",
        "The connection dies when three messages of a batch of four are acknowledged",
        ("ack.whole-batch-only",),
        consumer=WHOLE_BATCHES,
        faults=(Fault(trigger=AfterStep(step=lost), action=Cut()),),
    )


CASES = (
    one_interval(),
    steady_acks(),
    cumulative_out_of_order(),
    close_with_pending_acks(),
    batch_half_settled(),
    half_settled_batch_redelivered(),
)
