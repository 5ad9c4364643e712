from __future__ import annotations

from assay_conformance.model.event import Invoke
from assay_conformance.pulsar.checks.seek._more_to_read import Answer, answers, judged
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("seek.has-message-available-before-read", of=lambda timeline: answers(timeline, Invoke))
def has_message_available_before_read(timeline: Timeline, answer: Answer) -> Says:
    """seek.has-message-available-before-read: before a reader has received a message, has_message_available says
    whether the topic holds one for it."""
    yield from judged(timeline, answer)
