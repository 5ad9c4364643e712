"""Limits on the size of messages: the broker's, and what a client does without chunking."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.model.event import Completion, ErrorClass, Frame

_OTHER_ERRORS = (ErrorClass.CLOSED, ErrorClass.FENCED, ErrorClass.QUEUE_FULL, ErrorClass.TERMINATED)
"""Errors of the queue or the producer that end a send before its size is checked."""


def ended_unmeasured(check: Check, event: Completion) -> bool:
    """Whether this send ended because of its queue or its producer. One that waits for room when its producer is closed
    is interrupted, which has no error class of its own."""
    is_interrupted = event.error is ErrorClass.OTHER and event.handle in check.tracker.lines.closings
    return is_interrupted or event.error in _OTHER_ERRORS


def announced_limit(event: Frame, otherwise: int) -> int:
    """Return CONNECTED.max_message_size, where the broker sends it."""
    return int(event.fields.get("max_message_size", otherwise))
