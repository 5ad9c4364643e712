"""Topics that a client was refused for good: it is not expected to register there any more."""

from __future__ import annotations

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.outcomes.errors import TEMPORARY
from assay_conformance.pulsar.timeline import Timeline


def refused_for_good(timeline: Timeline) -> dict[str, list[Frame]]:
    """Return by topic the answers with a final error to a LOOKUP, PRODUCER or SUBSCRIBE, in order.

    A LOOKUP does not say for which producer or consumer it is, so an error counts for the whole topic.
    """
    found: dict[str, list[Frame]] = {}
    asked = timeline.requests("LOOKUP", "PRODUCER", "SUBSCRIBE")
    answers = ((one.answer, timeline.local_topic(one.frame)) for one in asked if one.answer is not None and one.error)
    for answer, topic in sorted(answers, key=lambda one: one[0].seq):
        if answer.fields.get("error") not in TEMPORARY:
            found.setdefault(topic, []).append(answer)
    return found
