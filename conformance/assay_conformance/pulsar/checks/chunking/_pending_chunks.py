"""The pending queue of a chunking producer: each chunk takes one place, and frees it once.

`flow.max-pending-messages` counts messages; here each chunk counts. Judged are producers with chunking enabled.
"""

from __future__ import annotations

from assay_conformance.model.event import Event
from assay_conformance.pulsar.checks.flow._full_queue import DEFAULT_MAX_PENDING
from assay_conformance.pulsar.timeline import Timeline


def places_of(timeline: Timeline, handle: int) -> int:
    """Return the number of places in its queue; 0 means without a limit."""
    configured = timeline.view.producer_setting(handle, "max_pending_messages")
    return DEFAULT_MAX_PENDING if configured is None else int(configured)


def is_chunking(timeline: Timeline, handle: int) -> bool:
    """Return whether a producer splits messages, and has one queue, for it sends to no partitions."""
    topic = timeline.topic_of(handle)
    alone = topic is not None and not topic.partitions and handle not in timeline.bursts
    return alone and timeline.view.producer_setting(handle, "chunking") is True


def check_known(timeline: Timeline, handle: int, at: Event) -> None:
    """Raise `UnknownError` where what is in the queue is not known."""
    timeline.check_untorn(handle, at)
    timeline.check_forged_answers(at, handle)
