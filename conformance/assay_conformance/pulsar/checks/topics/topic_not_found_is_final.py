from __future__ import annotations

from assay_conformance.pulsar.checks._final_errors import Final, judge_final
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("topics.topic-not-found-is-final")
def topic_not_found_is_final(timeline: Timeline) -> Says:
    """topics.topic-not-found-is-final: a producer or consumer that gets TopicNotFound does not register again."""
    yield from judge_final(timeline, Final("TopicNotFound", "the topic does not exist", ends_openings=True))
