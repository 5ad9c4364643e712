from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.pulsar.checks.delivery._by_rule import by_rule
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check(clauses.AS_SENT)
def payload_unchanged(timeline: Timeline) -> Says:
    """delivery.payload-unchanged: a message is received with the payload that it was sent with."""
    yield from by_rule(timeline, clauses.AS_SENT)
