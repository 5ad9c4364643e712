from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.pulsar.checks.delivery._by_rule import by_rule
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check(clauses.LOST)
def successful_send_is_delivered(timeline: Timeline) -> Says:
    """delivery.successful-send-is-delivered: a message whose send succeeded is delivered to every subscription."""
    yield from by_rule(timeline, clauses.LOST)
