"""Messages that wait in a client and should have been delivered."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.judging.tolerance import MS
from assay_conformance.model.event import Completion, Event
from assay_conformance.pulsar.timeline.consumers import Consumer
from assay_conformance.pulsar.timeline.deliveries import Delivery
from assay_conformance.pulsar.timeline.handlers import called_ns
from assay_conformance.pulsar.timeline.timeline import Timeline


def looked_ns(timeline: Timeline, consumer: Consumer, since_ns: int) -> int:
    """Return by when a client has noticed what arrived at `since_ns`: some clients poll."""
    return since_ns + round((timeline.setting(consumer, "receive_poll_ms") or 0) * MS)


def queued_messages(timeline: Timeline, consumer: Consumer, until: Event) -> Iterator[Delivery]:
    """Yield the messages that had arrived for a consumer by an event and were in its queue.

    It came for the first time, whole and on a session that lasts, and had neither been delivered nor covered by a
    cumulative acknowledgment. If a fault sent one twice, the later copy counts as delivered.
    """
    for delivery in timeline.deliveries:
        frame, session = delivery.frame, delivery.session
        if session.consumer is not consumer or frame.seq > until.seq or not delivery.came or not frame.intact:
            continue
        is_over = session.had_ended(until)
        copies = (one for one in timeline.copies(consumer, delivery.entry) if one.frame.seq >= frame.seq)
        is_handed = any(message.seq < until.seq for copy in copies for message in copy.received)
        is_first = not delivery.is_repeat and not frame.redelivery_count
        if is_first and not is_over and not is_handed and not timeline.is_ack_asked(consumer, delivery.entry, until):
            yield delivery


def left_waiting(timeline: Timeline, consumer: Consumer, end: Completion) -> Delivery | None:
    """Return the first of these that waited for longer than an answer takes while a call ended without it.

    None where there is none. Raises `TooBusyError` where the machine was too busy to say.
    """
    for delivery in queued_messages(timeline, consumer, end):
        since_ns = looked_ns(timeline, consumer, max(delivery.frame.t_ns, called_ns(end)))
        if timeline.bounds.is_overdue("answer", since_ns, end.t_ns, what="a message"):
            return delivery
    return None
