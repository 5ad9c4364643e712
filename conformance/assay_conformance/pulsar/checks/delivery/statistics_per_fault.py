from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.pulsar.checks.delivery._by_rule import by_rule
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check(clauses.WINDOWS)
def statistics_per_fault(timeline: Timeline) -> Says:
    """delivery.statistics-per-fault: what was sent and received around each fault is counted."""
    yield from by_rule(timeline, clauses.WINDOWS)
