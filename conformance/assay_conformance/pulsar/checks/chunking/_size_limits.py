"""Chunking, what it rests on: names of chunked messages, the broker's limit, and what a client does without chunks."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.model.event import Completion, ErrorClass, Frame

_OTHERWISE_ENDED = (ErrorClass.CLOSED, ErrorClass.FENCED, ErrorClass.QUEUE_FULL, ErrorClass.TERMINATED)
"""What ends a send for reasons of its queue or its producer, before anybody looks at how large it is."""


def ended_unmeasured(check: Check, event: Completion) -> bool:
    """Whether this send ended for a reason of its queue or its producer: one that waits for room when its producer is
    closed is interrupted, which has no class of its own."""
    is_interrupted = event.error is ErrorClass.OTHER and event.handle in check.tracker.lines.closings
    return is_interrupted or event.error in _OTHERWISE_ENDED


def told_limit(event: Frame, otherwise: int) -> int:
    """CONNECTED.max_message_size, where the broker tells it."""
    return int(event.fields.get("max_message_size", otherwise))
