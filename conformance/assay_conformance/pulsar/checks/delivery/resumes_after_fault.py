from __future__ import annotations

from assay_conformance.checks.consumption import in_force, is_torn
from assay_conformance.ledger import clauses
from assay_conformance.ledger.rules import Breach
from assay_conformance.model.topic_names import base_topic, named_topics
from assay_conformance.pulsar.checks.delivery._by_rule import doubted, events_of, exercised
from assay_conformance.pulsar.timeline import Says, Timeline, breach, check, each


@check(clauses.FLOWS)
def resumes_after_fault(timeline: Timeline) -> Says:
    """delivery.resumes-after-fault: once a fault is over, messages are received again. A pause of the machine is not a
    stall of the client."""
    yield from exercised(timeline, clauses.FLOWS)
    torn = [frame for frame in timeline.events.frames("FLOW") if is_torn(frame)]
    sessions = [timeline.consumer_sessions.of(frame) for frame in torn]
    # A client does not grant again what a fault dropped of its permits.
    excused = {_row_name(one.subscription, one.topic) for one in sessions if one is not None} | _in_no_hurry(timeline)
    if None not in sessions:
        stalls = timeline.rows.rules[clauses.FLOWS].breaches
        small = timeline.rows.transcript.small
        stalls = [found for found in stalls if small.subscriptions[found.sub].name not in excused]
        yield from each(stalls, _stall, timeline)
    yield from doubted(timeline, clauses.FLOWS)


def _stall(timeline: Timeline, found: Breach) -> Says:
    end_ns = timeline.bounds.end_ns
    timeline.bounds.check_fair("answer", 0, end_ns, what="whether messages were received again in time")
    yield breach(found.code, found.sentence, *events_of(timeline, found))


def _in_no_hurry(timeline: Timeline) -> set[str]:
    """Return subscriptions of which a consumer that reconnects becomes active a second later, or looks once a period
    whether messages have come."""
    first = timeline.topology.topics[0].name
    later = (
        one
        for one in timeline.consumers
        if in_force(timeline.view, one, "subscription_type") == "failover" or timeline.setting(one, "receive_poll_ms")
    )
    return {
        _row_name(one.subscription, timeline.local_name(str(topic)))
        for one in later
        for topic in named_topics(one.invoke.args, first)
    }


def _row_name(subscription: str, topic: str) -> str:
    """Return the name of the subscription in the rows."""
    return f"{subscription} on {base_topic(topic)}"
