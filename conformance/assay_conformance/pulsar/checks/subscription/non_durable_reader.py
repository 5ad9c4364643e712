from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from assay_conformance.model.event import Cursor, Frame, MessageId, Position, Stored
from assay_conformance.model.fault import Direction
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import (
    ConsumerSession,
    Exercised,
    Request,
    Says,
    Timeline,
    breach,
    check,
    each,
    ms,
)
from assay_conformance.pulsar.timeline.readers import FIRST, first_place, ids_may_start_over, is_reader

_Place = tuple[str, str]
"""Topic and subscription."""


class _First(NamedTuple):
    """The first message that a reader was sent, which asked to begin at `begins`. `log`: what its topic held;
    `was_served`: something of the topic had been sent before."""

    session: ConsumerSession
    begins: Position
    frame: Frame
    log: Sequence[Stored]
    was_served: bool


@check("subscription.non-durable-reader")
def non_durable_reader(timeline: Timeline) -> Says:
    """subscription.non-durable-reader: a reader begins where it asks to, and its subscription is gone with it. Judged
    on persistent topics that do not delete messages by themselves. A broker may begin with the message that a reader
    names or with the next one: clients handle both."""
    yield from each(_firsts(timeline), _begins)
    yield from each(timeline.events.of(Cursor), _judge_gone, timeline)


def _firsts(timeline: Timeline) -> Iterator[_First]:
    """Yield the first messages; what a seek has moved since the last message is left out."""
    case = timeline.view.case
    if ids_may_start_over(case):
        return
    shrinking = timeline.non_persistent | {
        topic.name for topic in case.topology.topics if topic.message_ttl_s or topic.retention is not None
    }
    seeks, last, begun = _seeks(timeline), dict[_Place, Frame](), set[int]()
    served = set[str]()
    for frame in timeline.events.frames("MESSAGE"):
        session = timeline.consumer_sessions.of(frame)
        if session is None or not frame.from_sender or not frame.ids:
            continue
        topic, place = session.topic, (session.topic, session.subscription)
        is_first = session.request.seq not in begun
        moved = any(_is_between(seek, last.get(place), frame) for seek in seeks.get(place, ()))
        begins = _begins_at(session) if is_first and not moved else None
        if begins is not None and base_topic(topic) not in shrinking:
            yield _First(session, begins, frame, timeline.stored_on(topic), topic in served)
        begun.add(session.request.seq)
        last[place] = frame
        served.add(topic)


def _seeks(timeline: Timeline) -> Mapping[_Place, Sequence[Request]]:
    """Return the seeks of each subscription of each topic."""
    found = defaultdict[_Place, list[Request]](list)
    for seek in timeline.requests("SEEK"):
        if (session := timeline.consumer_sessions.of(seek.frame)) is not None:
            found[session.topic, session.subscription].append(seek)
    return found


def _is_between(seek: Request, last: Frame | None, frame: Frame) -> bool:
    """Return whether it may have moved its subscription between two messages: until it is answered, what the broker
    had read before may still leave."""
    is_open = last is None or seek.answer is None or seek.answer.seq > last.seq
    return is_open and seek.frame.seq < frame.seq


def _begins_at(session: ConsumerSession) -> Position | None:
    reads = is_reader(session) and session.request.at_broker
    return first_place(session) if reads else None


def _begins(first: _First) -> Says:
    session, begins, frame, log, was_served = first
    place = frame.ids[0].position
    places = (find(log, begins, key=lambda one: one.id.position) for find in (bisect_left, bisect_right))
    possible = {log[at].id.position for at in places if at < len(log)}
    if place not in possible:
        yield breach(
            "starts-elsewhere",
            f"reader {session.subscription} of topic {session.topic} asked at {ms(session.request.t_ns)} to begin at "
            f"{_name(begins)}; expected that entry or the next one first; it was sent {_name(place)} at "
            f"{ms(frame.t_ns)}",
            *(session.request, frame),
        )
    elif was_served:
        yield Exercised(frame)


def _judge_gone(timeline: Timeline, cursor: Cursor) -> Says:
    """Judge whether a cursor is gone: one that a broker still has belongs to no reader that is gone."""
    place = (cursor.topic, cursor.subscription)
    there = (one for one in timeline.consumer_sessions.all if (one.topic, one.subscription) == place)
    readers = (one for one in there if is_reader(one) and one.request.at_broker)
    sessions = [one for one in readers if one.was_admitted(cursor)]
    ends = [one.ended for one in sessions if one.ended is not None and one.had_ended(cursor)]
    if not sessions or len(ends) < len(sessions) or _closed_for_seek(timeline, sessions[-1]):
        return
    yield breach(
        "left-behind",
        f"reader {cursor.subscription} of topic {cursor.topic} was gone at {ms(ends[-1].t_ns)}; expected its "
        "subscription to be gone, too; it still exists",
        *(ends[-1], cursor),
    )


def _closed_for_seek(timeline: Timeline, session: ConsumerSession) -> bool:
    """Return whether a SEEK closed it, or had come to the broker when its connection ended. The broker then keeps the
    subscription, moved, for the SUBSCRIBE that may follow (Broker, PersistentSubscription: removeConsumer,
    isResetCursor)."""
    end = session.ended
    by_client = isinstance(end, Frame) and end.dir is Direction.TO_BROKER
    sought = (one for one in timeline.requests("SEEK") if timeline.consumer_sessions.of(one.frame) is session)
    return not by_client and any(one.frame.at_broker and (isinstance(end, Frame) or not one.answer) for one in sought)


def _name(position: Position) -> str:
    return "its beginning" if position == FIRST else MessageId(*position).name
