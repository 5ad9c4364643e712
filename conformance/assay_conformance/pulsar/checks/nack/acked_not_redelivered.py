"""nack.acked-not-redelivered"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from assay_conformance.checks.consumption import acked_entries, elapsed, of_batch, plain_acks
from assay_conformance.model.event import Closed, ClosedBy, Frame
from assay_conformance.pulsar.checks.nack._windows import window_of
from assay_conformance.pulsar.timeline import (
    REDELIVER,
    Consumer,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    known_owner,
    ms,
)
from assay_conformance.pulsar.timeline.courses import Asked, Handed, Over, Sent


class _Refused(NamedTuple):
    """An entry of one message that was refused, and individual acks of it after that."""

    consumer: Consumer
    entry: Entry
    nack: Asked
    acks: list[Asked]


def _refused(timeline: Timeline) -> Iterator[_Refused]:
    for consumer in timeline.refusing:
        found: dict[Entry, _Refused] = {}
        for moment in timeline.course(consumer):
            if not isinstance(moment, Asked) or of_batch(moment.call.message.message_id):
                continue
            if moment.session is not None and moment.is_nack:
                found.setdefault(moment.entry, _Refused(consumer, moment.entry, moment, []))
            elif moment.session is not None and not moment.call.cumulative and moment.entry in found:
                found[moment.entry].acks.append(moment)
        yield from (one for one in found.values() if one.acks)


@check("nack.acked-not-redelivered", of=_refused)
def acked_not_redelivered(timeline: Timeline, refused: _Refused) -> Says:
    """nack.acked-not-redelivered: refused, acknowledged before the delay was over: the application must not see it
    again.

    The REDELIVER may still be sent. What the broker had dispatched before the ACK reached it may still arrive, and so
    may what it had been asked for by then. A seek or an unsubscribe brings acknowledged messages back by intent; and a
    broker that ends the connection may have ended itself, with acknowledgments it had not written.
    """
    ends = [one.event.seq for one in timeline.course(refused.consumer) if isinstance(one, Over) and _forgets(one)]
    since: float = -1
    for ack in refused.acks:
        until = min((seq for seq in ends if seq > ack.event.seq), default=inf)
        arrived = _arrived(timeline, refused, ack)
        if ack.event.seq < since:
            continue
        since = until
        if arrived is not None and arrived.seq < until:
            again, dispatch = _handed_again(timeline, refused, arrived, until)
            since = until if again is None else again.event.seq
            yield from _exercised(timeline, refused, arrived, since)
            if again is not None:
                yield breach(
                    "redelivered-after-ack",
                    f"consumer {refused.consumer.handle} got {refused.entry} again at {ms(again.event.t_ns)}; its ACK "
                    f"had reached the broker at {ms(arrived.t_ns)}, "
                    f"{elapsed(arrived.t_ns, refused.nack.event.t_ns)} after it was refused",
                    arrived,
                    dispatch,
                    again.event,
                )


def _forgets(over: Over) -> bool:
    by_intent = isinstance(over.event, Frame) and over.event.command in ("SEEK", "UNSUBSCRIBE")
    return by_intent or (isinstance(over.event, Closed) and over.event.by is ClosedBy.BROKER)


def _arrived(timeline: Timeline, refused: _Refused, ack: Asked) -> Frame | None:
    """The ACK at the broker, which takes none of a consumer that it has closed."""
    found: list[Frame] = []
    for session in refused.consumer.sessions:
        end = inf if session.ended is None else session.ended.seq
        for frame in timeline.consumer_sessions.frames(session, "ACK"):
            alone = frame.at_broker and plain_acks(frame) and frame.ack_type != "Cumulative"
            if alone and ack.event.seq < frame.seq < end and refused.entry in acked_entries(session, frame):
                found.append(frame)
    return min(found, key=lambda frame: frame.seq, default=None)


def _requests(timeline: Timeline, refused: _Refused, arrived: Frame) -> Iterator[Frame]:
    """REDELIVERs that had come to the broker."""
    for session in refused.consumer.sessions:
        for frame in timeline.consumer_sessions.frames(session, REDELIVER):
            named = {Entry(session.topic, id.ledger, id.entry) for id in frame.ids}
            asks = refused.entry in named if named else refused.entry.topic == session.topic
            timely = frame.at_broker and refused.nack.event.seq < frame.seq < arrived.seq
            if asks and timely and known_owner(session, frame) is refused.consumer:
                yield frame


def _handed_again(
    timeline: Timeline, refused: _Refused, arrived: Frame, until: float
) -> tuple[Handed | None, Frame | None]:
    """The first that was handed over beyond the copies that were under way; what was sent behind the ACK."""
    course = [one for one in timeline.course(refused.consumer) if isinstance(one, Sent | Handed)]
    course = [one for one in course if one.entry == refused.entry and one.event.seq < until]
    sent = [one.event for one in course if isinstance(one, Sent)]
    dispatch = next((one for one in sent if one.seq > arrived.seq and one.from_sender), None)
    last = max((one.seq for one in _requests(timeline, refused, arrived)), default=None)
    is_awaited = last is not None and not any(last < one.seq < arrived.seq and one.from_sender for one in sent)
    # A frame held since before the ACK, or a copy of one, comes behind it.
    left = arrived.seq if dispatch is None else dispatch.seq
    came = [one.seq for one in sent if one.to_receiver and (one.seq < arrived.seq or not one.from_sender)]
    came = [seq for seq in came if dispatch is None or seq < left]
    handed = [one for one in course if isinstance(one, Handed)]
    for count, one in enumerate(handed, 1):
        under_way = sum(seq < one.event.seq for seq in came) + is_awaited
        if one.event.seq > arrived.seq and count > under_way:
            return one, dispatch if dispatch is not None and dispatch.seq < one.event.seq else None
    return None, dispatch


def _exercised(timeline: Timeline, refused: _Refused, arrived: Frame, until: float) -> Says:
    """A receive that ended after the delay shows that nothing came."""
    window = window_of(timeline.view, refused.consumer)
    if window is None or any(_requests(timeline, refused, arrived)):
        return
    due_ns = refused.nack.event.t_ns + window.latest_ns
    for end in timeline.events.completions("receive"):
        if end.handle == refused.consumer.handle and arrived.seq < end.seq < until and end.t_ns >= due_ns:
            yield Exercised(end)
            return
