from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.base import View
from assay_conformance.model.event import FORGED_OR_DOUBLED, Frame, ReadBack, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import ConsumerSession, Exercised, Says, Timeline, breach, check, each, ms


class _Delivered(NamedTuple):
    """A MESSAGE as its broker wrote it, the SUBSCRIBE of its consumer as that came, the last SEND of its bytes before,
    and whether that many SENDs had been delivered to its subscription already."""

    frame: Frame
    session: ConsumerSession
    subscribed: Frame
    send: Frame
    is_repeated: bool


def _not_stored(view: View) -> set[str]:
    return {topic.name for topic in view.case.topology.topics if not topic.persistent}


@check("topics.non-persistent-not-stored", where=lambda view: bool(_not_stored(view)))
def non_persistent_not_stored(timeline: Timeline) -> Says:
    """topics.non-persistent-not-stored: a message of a non-persistent topic reaches the consumers that are connected at
    the time, and no others: nothing is stored, a consumer gets a SEND only if its SUBSCRIBE reached the broker first,
    and each SEND allows one delivery per subscription."""
    topics = _not_stored(timeline.view)
    yield from _judge_empty(timeline, topics)
    yield from _late_subscribers(timeline, topics)
    yield from each(_delivered(timeline, topics), _judge_at_once)


def _judge_empty(timeline: Timeline, topics: set[str]) -> Says:
    for entry in timeline.events.of(Stored):
        if base_topic(entry.topic) in topics:
            text = f"an entry of the non-persistent topic {entry.topic} was stored at {ms(entry.t_ns)}; expected none"
            yield breach("stored", text, entry)
    for read in timeline.events.of(ReadBack):
        if base_topic(read.topic) in topics and read.entries:
            text = f"the non-persistent topic {read.topic} holds {len(read.entries)} stored entries; expected none"
            yield breach("stored", text, read)


def _late_subscribers(timeline: Timeline, topics: set[str]) -> Says:
    """Judge subscribers that came when a message of their topic had been receipted."""
    receipted: dict[str, int] = {}
    for receipt in timeline.events.frames("SEND_RECEIPT"):
        producer = timeline.session_of(receipt) if receipt.from_sender else None
        if producer is not None and base_topic(producer.topic) in topics:
            receipted.setdefault(producer.topic, receipt.seq)
    for frame in timeline.events.frames("SUBSCRIBE"):
        session = timeline.consumer_sessions.of(frame) if frame.to_receiver else None
        if session is not None and receipted.get(session.topic, frame.seq) < frame.seq:
            yield Exercised(frame)


def _delivered(timeline: Timeline, topics: set[str]) -> Iterator[_Delivered]:
    sent: dict[tuple[str, int], list[Frame]] = {}
    delivered: Counter[tuple[str, str, int]] = Counter()
    subscribed: dict[tuple[int, int | None], Frame] = {}
    for frame in timeline.events.frames("SUBSCRIBE", "SEND", "MESSAGE"):
        if frame.command == "SUBSCRIBE" and frame.to_receiver:
            subscribed[frame.conn, frame.consumer_id] = frame
        if frame.unit is None:
            continue
        if frame.command == "SEND":
            producer = timeline.session_of(frame) if frame.to_receiver else None
            if producer is not None and base_topic(producer.topic) in topics:
                sent.setdefault((producer.topic, frame.unit), []).append(frame)
            continue
        session = timeline.consumer_sessions.of(frame)
        is_own = frame.from_sender and frame.fate not in FORGED_OR_DOUBLED
        sends = () if session is None or not is_own else sent.get((session.topic, frame.unit), ())
        came = subscribed.get((frame.conn, frame.consumer_id))
        if session is not None and came is not None and sends:
            place = (session.topic, session.subscription, frame.unit)
            delivered[place] += 1
            yield _Delivered(frame, session, came, sends[-1], is_repeated=delivered[place] > len(sends))


def _judge_at_once(delivered: _Delivered) -> Says:
    frame, session, subscribed, send, is_repeated = delivered
    came = (
        f"subscription {session.subscription} of the non-persistent topic {session.topic} was sent a message at "
        f"{ms(frame.t_ns)} that had reached the broker at {ms(send.t_ns)}"
    )
    if send.seq < subscribed.seq:
        when = "before that consumer subscribed; expected it to be dropped"
        yield breach("kept", f"{came}, {when}", *(send, frame))
    elif is_repeated:
        when = "and had been delivered to that subscription before; expected one delivery for each SEND"
        yield breach("delivered-again", f"{came}, {when}", *(send, frame))
