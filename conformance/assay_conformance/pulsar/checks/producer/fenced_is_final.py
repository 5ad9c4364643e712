from __future__ import annotations

from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.checks._final_errors import Final, judge_final
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("producer.fenced-is-final")
def fenced_is_final(timeline: Timeline) -> Says:
    """producer.fenced-is-final: a producer that gets ProducerFenced does not register again, and its pending sends
    fail."""
    final = Final("ProducerFenced", "another producer has the topic", ErrorClass.FENCED, kinds=("producer",))
    yield from judge_final(timeline, final)
