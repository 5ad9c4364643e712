from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.pulsar.checks.delivery._by_rule import by_rule
from assay_conformance.pulsar.checks.delivery._witnessed import Witnessed
from assay_conformance.pulsar.timeline import Breach, Says, Timeline, breach, check


@check(clauses.INVENTED)
def no_phantom_messages(timeline: Timeline) -> Says:
    """delivery.no-phantom-messages: every message that is received was sent by a producer. Judges the rows, and every
    delivery by all that the witnesses know, of which rows leave out much."""
    reported = set[int]()
    for said in by_rule(timeline, clauses.INVENTED):
        reported |= {event.seq for event in said.events} if isinstance(said, Breach) else set()
        yield said
    for event, code, sentence in Witnessed(timeline).unknown_deliveries(timeline):
        if event.seq not in reported:
            yield breach(code, sentence, event)
