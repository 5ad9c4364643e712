from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.pulsar.checks.delivery._by_rule import by_rule
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check(clauses.CONTRACT)
def no_unexplained_duplicates(timeline: Timeline) -> Says:
    """delivery.no-unexplained-duplicates: a message is received once, or again for a reason."""
    yield from by_rule(timeline, clauses.CONTRACT)
