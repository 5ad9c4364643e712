"""Cases for negative acknowledgments together with the acknowledgment time-out."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import batch, plains
from assay_conformance.model.case import Case
from assay_conformance.pulsar.cases.ack_timeout import LEAST, SHORT, Pace, comes_again


def nacked_within_timeout(pace: Pace) -> Case:
    """Nack a message whose redelivery delay is longer than its acknowledgment time-out."""
    plan, consumer = Schedule.with_consumer_of(plains(range(2)), receives=2)
    plan.nack(consumer, numbers=[0])
    plan.ack(consumer, numbers=[1])
    comes_again(plan, consumer, 1, deadline_ms=3 * pace.over_ms)
    return pace.case(
        plan,
        "nacked-within-timeout",
        "A message is nacked, and its redelivery delay is longer than the acknowledgment time-out",
        "nack.ends-ack-timeout",
        nack_delay_ms=pace.over_ms + pace.timeout_ms // 2,
    )


def batch_nacked_within_timeout(pace: Pace) -> Case:
    """Nack all messages of a batch, whose ids name the same entry."""
    plan, consumer = Schedule.with_consumer_of([batch(range(2))], receives=2)
    plan.wait_ops(plan.nack(consumer))
    comes_again(plan, consumer, 2, deadline_ms=3 * pace.over_ms)
    return pace.case(
        plan,
        "batch-nacked-within-timeout",
        "Both messages of a batch are nacked, and their redelivery delay is longer than the acknowledgment time-out",
        "nack.ends-ack-timeout",
        nack_delay_ms=pace.over_ms + pace.timeout_ms // 2,
    )


CASES = tuple(made(pace) for made in (nacked_within_timeout, batch_nacked_within_timeout) for pace in (SHORT, LEAST))
