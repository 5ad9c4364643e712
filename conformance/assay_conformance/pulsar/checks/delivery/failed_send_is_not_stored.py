from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.pulsar.checks.delivery._by_rule import by_rule
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check(clauses.FAILED)
def failed_send_is_not_stored(timeline: Timeline) -> Says:
    """delivery.failed-send-is-not-stored: a message whose send failed is not stored, unless the outcome of the send is
    unknown."""
    yield from by_rule(timeline, clauses.FAILED)
