"""Acknowledgments and brokers that lose their topics: a topic is unloaded, its broker stops, or it crashes."""

from __future__ import annotations

from assay_conformance.cases.build import AROUND_RESTARTS, RESTART_MS, Schedule
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Topology
from assay_conformance.model.fault import Direction
from assay_conformance.model.policy import BrokerSettings

SETTLED_MS = 300
"""The time in which acknowledgments are sent (a group interval of 100 ms) and written."""

PERIOD_MS = 200
"""The interval at which the cursor is written in these Cases."""

SHORT_MS = 700
"""How long the last receive waits for nothing: longer than any answer takes."""


def _half_acknowledged(*groups: list[int], pause_ms: int = SETTLED_MS) -> tuple[Schedule, int]:
    """Acknowledge these groups of eight messages, one after the other."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(8)))
    plan.receive(consumer, 8, wait=True)
    for numbers in groups:
        plan.wait_ops(plan.ack(consumer, numbers=numbers))
        plan.wait_ms(pause_ms)
    return plan, consumer


def _back(plan: Schedule, consumer: int, count: int) -> None:
    """Wait for the consumer to reconnect, and receive what was not acknowledged."""
    plan.wait_frame("SUCCESS", Direction.TO_CLIENT, 2, deadline_ms=RESTART_MS)
    plan.wait_ops(plan.receive(consumer, count, SHORT_MS))
    plan.wait_ms(SETTLED_MS)


def individual_acks_after_unload() -> Case:
    """Acknowledge a second time so soon after the first that both are written together."""
    plan, consumer = _half_acknowledged([0, 2], [4, 5])
    plan.broker("unload", topic="t")
    _back(plan, consumer, 4)
    return plan.case(
        "ack/individual-acks-after-unload",
        "Four of eight messages, not consecutive ones, are acknowledged, and their topic is unloaded",
        ("ack.survives-unload",),
        consumer={"subscription_type": "shared"},
    )


def individual_acks_after_crash() -> Case:
    """Acknowledge twice: the second ACK causes the first ones to be written; it may itself be lost."""
    plan, consumer = _half_acknowledged([0, 2, 4], [6], pause_ms=2 * SETTLED_MS)
    plan.broker("restart")
    _back(plan, consumer, 5)
    return plan.case(
        "ack/individual-acks-after-crash",
        "Four of eight messages, not consecutive ones, are acknowledged, and the broker crashes",
        ("ack.survives-unload",),
        consumer={"subscription_type": "shared"},
        limits=AROUND_RESTARTS,
        topology=Topology(settings=BrokerSettings(cursor_persist_ms=PERIOD_MS)),
    )


def graceful_broker_stop() -> Case:
    plan, consumer = _half_acknowledged([0], [1, 2])
    plan.broker("restart", graceful=True)
    _back(plan, consumer, 5)
    return plan.case(
        "ack/graceful-broker-stop",
        "Three of eight messages are acknowledged, and the broker shuts down cleanly",
        ("ack.survives-unload",),
        limits=AROUND_RESTARTS,
    )
