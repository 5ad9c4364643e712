from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.model.event import ReadBack
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.delivery._by_rule import doubted, events_of, exercised
from assay_conformance.pulsar.timeline import Says, Timeline, breach, check


@check(clauses.STORED_OK)
def successful_send_is_stored(timeline: Timeline) -> Says:
    """delivery.successful-send-is-stored: a message whose send succeeded is stored in its topic. The evidence is the
    send, and what the broker holds at the end."""
    yield from exercised(timeline, clauses.STORED_OK)
    small = timeline.rows.transcript.small
    for found in timeline.rows.rules[clauses.STORED_OK].breaches:
        topic = base_topic(small.topics[small.streams[found.stream].topic].name)
        read_back = (one for one in timeline.events.of(ReadBack) if base_topic(one.topic) == topic)
        yield breach(found.code, found.sentence, *events_of(timeline, found), *read_back)
    yield from doubted(timeline, clauses.STORED_OK)
