from __future__ import annotations

from assay_conformance.model.event import Received
from assay_conformance.pulsar.checks.seek._more_to_read import Answer, answers, judged
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("seek.has-message-available-after-read", of=lambda timeline: answers(timeline, Received))
def has_message_available_after_read(timeline: Timeline, answer: Answer) -> Says:
    """seek.has-message-available-after-read: after a reader has received a message, has_message_available says whether
    the topic holds a later one."""
    yield from judged(timeline, answer)
