"""Consumers that end beside another one on their connection, when redelivery is not due yet."""

from __future__ import annotations

from typing import Any

from assay_conformance.cases.build import STARVED_MS, Schedule
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Config, Limits
from assay_conformance.pulsar.cases.ack_timeout import SHORT
from assay_conformance.pulsar.cases.nack.requests import DELAY_MS, SHARED


def _ended(
    words: str, title: str, *capabilities: str, nacks: bool = True, unsubscribes: bool = False, **config: Any
) -> Case:
    """End a consumer, and wait for longer than its redelivery was to; the other one keeps the connection."""
    plan, client = Schedule.with_client(stored=plains(range(3)))
    ending, other = plan.consumer(client), plan.consumer(client, subscription="other")
    plan.wait_ops(plan.receive(ending, 3, STARVED_MS))
    if nacks:
        plan.wait_ops(plan.nack(ending))
    plan.wait_ops(plan.agent("unsubscribe", {"consumer": ending}) if unsubscribes else plan.close(ending))
    due_ms = DELAY_MS if nacks else SHORT.over_ms
    plan.wait_ms(2 * due_ms)
    plan.wait_ops(plan.receive(other, 3, STARVED_MS))
    plan.wait_ops(plan.ack(other))
    consumer: Config = {**SHARED, **config}
    return plan.case(
        f"subscription/{words}",
        title,
        ("subscription.nothing-after-close",),
        capabilities=("consumer", *capabilities),
        consumer=consumer,
        limits=Limits(least_wall_ms=2 * due_ms),
    )


CASES = (
    _ended(
        "closed-with-nacked-messages",
        "A consumer is closed when it has nacked three messages; another one keeps its connection",
        "nack_delay",
    ),
    _ended(
        "closed-with-unacknowledged-messages",
        "A consumer is closed when the time-out of three messages runs; another one keeps its connection",
        "short_ack_timeout",
        nacks=False,
        ack_timeout_ms=SHORT.timeout_ms,
        ack_timeout_tick_ms=SHORT.tick_ms,
    ),
    _ended(
        "unsubscribed-with-nacked-messages",
        "A consumer unsubscribes when it has nacked three messages; another one keeps its connection",
        *("nack_delay", "unsubscribe"),
        unsubscribes=True,
    ),
)
