"""Acknowledging messages of a batch, which the broker stores and settles as one entry."""

from __future__ import annotations

from assay_conformance.checks.base import View
from assay_conformance.checks.consumption import in_force
from assay_conformance.checks.tracker import OpenedConsumer


def index_ack_off(view: View, consumer: OpenedConsumer) -> bool:
    """Whether the consumer acknowledges whole entries only."""
    if "batch_index_ack" not in view.facts.capabilities:
        return True
    return in_force(view, consumer, "batch_index_ack") is False
