"""seek.has-message-available-before-read"""

from __future__ import annotations

from assay_conformance.model.event import Invoke
from assay_conformance.pulsar.checks.seek._more_to_read import Answer, answers, judged
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("seek.has-message-available-before-read", of=lambda timeline: answers(timeline, Invoke))
def has_message_available_before_read(timeline: Timeline, answer: Answer) -> Says:
    """seek.has-message-available-before-read: before any message it says whether there is one for this reader."""
    yield from judged(timeline, answer)
