"""Cases for nacks with a backoff: the same message again and again, and a short delay after a long one."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Config, Limits
from assay_conformance.model.fault import Direction

SHARED: Config = {"initial_position": "earliest", "subscription_type": "shared", "nack_backoff_min_ms": 100}
REDELIVER = "REDELIVER_UNACKNOWLEDGED_MESSAGES"

STARVED_MS = 1_500
"""Longer than any of the delays below, and their tolerance."""

LONG_MS = 800


def backoff_of_repeated_nacks() -> Case:
    """Nack three times: four times 100 ms would be 400 at the third nack; the maximum is less."""
    plan, consumer = Schedule.with_consumer_of(plains(range(2)), receives=2)
    for _ in range(3):
        plan.nack(consumer, numbers=[0])
        plan.receive(consumer, 1, STARVED_MS)
        plan.wait_ops()
    return plan.case(
        "nack/backoff-of-repeated-nacks",
        "A message is nacked three times, with a backoff from 100 to 210 ms",
        ("nack.backoff-grows",),
        capabilities=("nack_backoff",),
        consumer={**SHARED, "nack_backoff_multiplier": 2, "nack_backoff_max_ms": 210},
        limits=Limits(least_wall_ms=100 + 200 + 210),
    )


def short_delay_after_long() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(2)), receives=2)
    plan.nack(consumer, numbers=[0])
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.nack(consumer, messages=[3])
    plan.nack(consumer, numbers=[1])
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, 3, deadline_ms=STARVED_MS)
    plan.receive(consumer, 2, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "nack/short-delay-after-long",
        "A message nacked for the second time has a backoff of 800 ms, and one nacked after it of 100 ms",
        ("nack.short-delay-not-behind-long", "nack.backoff-grows"),
        capabilities=("nack_backoff",),
        consumer={**SHARED, "nack_backoff_multiplier": 8, "nack_backoff_max_ms": LONG_MS},
        limits=Limits(least_wall_ms=100 + LONG_MS),
    )
