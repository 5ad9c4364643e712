"""What lies in a client, and should have been handed over."""

from __future__ import annotations

from assay_conformance.model.event import Completion, Frame
from assay_conformance.pulsar.timeline import Consumer, Timeline
from assay_conformance.pulsar.timeline.handlers import called_ns


def left_waiting(timeline: Timeline, consumer: Consumer, end: Completion) -> Frame | None:
    """The first whole message that lay in the client while a `receive` that ended short waited longer than an answer
    takes; None where there is none, or the machine was too busy to say."""
    for delivery in timeline.deliveries:
        frame, session = delivery.frame, delivery.session
        if session.consumer is not consumer or frame.seq > end.seq or not delivery.came or not frame.intact:
            continue
        is_over = session.ended is not None and session.ended.seq < end.seq
        is_handed = any(message.seq < end.seq for message in delivery.handed)
        if is_over or is_handed or delivery.is_repeat or frame.redelivery_count:
            continue
        since_ns = max(frame.t_ns, called_ns(end))
        if timeline.bounds.is_overdue("answer", since_ns, end.t_ns, what="a message"):
            return frame
    return None
