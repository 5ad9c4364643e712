from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Completion, Outcome, Position
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import (
    Consumer,
    Delivery,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    is_plain,
    looked_ns,
    ms,
)
from assay_conformance.pulsar.timeline.readers import FIRST, is_reader


class _Waited(NamedTuple):
    """A receive that succeeded, and the oldest message that had arrived and was not delivered by then."""

    consumer: Consumer
    end: Completion
    waiting: Delivery | None


def _waited(timeline: Timeline) -> Iterator[_Waited]:
    """Yield receives that got something, and the first of each consumer that got too little beside a message."""
    arrived: dict[int, deque[Delivery]] = {}
    moved = {call.handle for call in timeline.events.invokes("nack", "redeliver_all", "reconsume_later")}
    sought = _sought(timeline)
    reached: dict[ConsumerSession, Position] = {}
    for delivery in timeline.deliveries if timeline.starved else ():
        if is_reader(delivery.session) and delivery.came:
            before, position = reached.get(delivery.session, FIRST), delivery.position
            reached[delivery.session] = max(before, position)
            # Who reads drops what lies in front of that.
            if position < before:
                continue
        consumer = delivery.session.consumer
        named = base_topic(delivery.session.topic) not in timeline.non_persistent
        if consumer is None or consumer.handle in moved or delivery.frame.seq < sought.get(consumer.handle, 0):
            continue
        if named and _is_unsettled(delivery):
            arrived.setdefault(consumer.handle, deque()).append(delivery)
    short = {end.seq for end in timeline.starved}
    for end in timeline.events.completions("receive"):
        consumer = timeline.consumer(end.handle)
        if consumer is None or end.outcome is not Outcome.OK:
            continue
        waiting = _oldest(timeline, arrived.get(consumer.handle), end) if end.seq in short else None
        if waiting is not None:
            del arrived[consumer.handle]
        if waiting is not None or end.count:
            yield _Waited(consumer, end, waiting)


def _sought(timeline: Timeline) -> dict[int | None, float]:
    """Return from when on what comes is owed to consumers that seek: their seeks have ended, all of them by time.

    What comes before that a client may take for the old place's; of an id it passes over what does not come after it.
    """
    sought: dict[int | None, float] = {}
    for call in timeline.events.invokes("seek"):
        end = timeline.end_of(call.op)
        has_sought = end is not None and end.outcome is Outcome.OK and call.args.get("publish_time_ms") is not None
        since = end.seq if end is not None and has_sought else inf
        sought[call.handle] = max(since, sought.get(call.handle, 0))
    return sought


def _oldest(timeline: Timeline, arrived: deque[Delivery] | None, end: Completion) -> Delivery | None:
    """Return the first delivery whose session lasts.

    What comes late is none, and neither is what its session took with it, or what a cumulative acknowledgment had
    covered.
    """
    while arrived and (_is_over(timeline, arrived[0], end) or _is_done(timeline, arrived[0], end)):
        arrived.popleft()
    return arrived[0] if arrived and arrived[0].frame.seq < end.seq else None


def _is_over(timeline: Timeline, delivery: Delivery, end: Completion) -> bool:
    """Return whether its session is, or the client may have left the connection over something else that came there."""
    return delivery.session.had_ended(end) or timeline.connection(delivery.frame.conn).may_be_left_before(end)


def _is_done(timeline: Timeline, delivery: Delivery, end: Completion) -> bool:
    """Return whether it was delivered, whenever and by whichever copy, or its application had done with it."""
    consumer, entry = delivery.consumer, delivery.entry
    is_handed = any(copy.received for copy in timeline.copies(consumer, entry))
    return is_handed or timeline.is_ack_asked(consumer, entry, end)


def _is_unsettled(delivery: Delivery) -> bool:
    """Return whether the client owes it: it is plain, and the client has not settled it by itself."""
    return is_plain(delivery) and not (delivery.acks or delivery.asked_again)


@check("delivery.reaches-waiting-receive", of=_waited)
def reaches_waiting_receive(timeline: Timeline, waited: _Waited) -> Says:
    """delivery.reaches-waiting-receive: while a receive waits, no message that has arrived is kept back from it.

    Judged of what comes for the first time, of consumers that do nothing but receive, acknowledge and seek times, and
    are not paused. What the client settles by itself is another clause's; messages of non-persistent topics have no ids
    to tell them apart.
    """
    consumer, end, delivery = waited
    if delivery is None:
        yield Exercised(end)
        return
    call, frame = timeline.call(end), delivery.frame
    asks_since_ns = timeline.unpaused_since_ns(consumer, end)
    if asks_since_ns is None:
        return
    since_ns = looked_ns(timeline, consumer, max(call.t_ns, frame.t_ns, asks_since_ns))
    if not timeline.bounds.is_overdue("answer", since_ns, end.t_ns, what="a message"):
        return
    yield breach(
        "kept-back",
        f"consumer {consumer.handle} had a receive waiting from {ms(call.t_ns)} to {ms(end.t_ns)}, which got "
        f"{end.count or 0} messages of {call.args.get('count', 1)}; expected entry {frame.ids[0]} of topic "
        f"{delivery.session.topic}, which had arrived at {ms(frame.t_ns)}; it was not delivered",
        *(frame, end),
    )
