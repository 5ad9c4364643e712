"""How often a message is tried before it becomes a dead letter."""

from __future__ import annotations

from assay_conformance.checks.consumption import in_force
from assay_conformance.pulsar.timeline import Consumer, Timeline

INDIVIDUAL = ("shared", "key_shared")
"""Types of subscription on which single messages are redelivered, and counted."""


def most_redeliveries(timeline: Timeline, consumer: Consumer) -> int:
    """Return the maximum of a consumer whose subscription counts redeliveries; 0 where there is none."""
    kind = in_force(timeline.view, consumer, "subscription_type")
    return timeline.setting(consumer, "max_redeliver_count") or 0 if kind in INDIVIDUAL else 0
