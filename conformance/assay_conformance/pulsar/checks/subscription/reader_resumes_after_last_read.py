from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay_conformance.checks.consumption import in_force
from assay_conformance.history.events import in_order
from assay_conformance.model.event import (
    FORGED_OR_DOUBLED,
    Completion,
    Fate,
    Frame,
    Invoke,
    Outcome,
    Position,
    Received,
)
from assay_conformance.pulsar.timeline import (
    REDELIVER,
    TOLERANCES,
    Breach,
    Consumer,
    ConsumerSession,
    Exercised,
    Judged,
    Says,
    Timeline,
    breach,
    check,
    ended_ns,
    ms,
)
from assay_conformance.pulsar.timeline.readers import FIRST, ids_may_start_over, place_named

Place = tuple[Position, int]
WHOLE = 2**31
"""Used as an index: all messages of the entry."""


@dataclass(slots=True)
class _Reading:
    """What a reader has received since it opened or sought, in order; `known`: the last message that its client
    certainly knew when it reconnected with `request`."""

    received: list[Received] = field(default_factory=list)
    seeking: bool = False
    known: Received | None = None
    request: Frame | None = None


class _Whole(NamedTuple):
    """A reconnect at a message inside a batch that named the whole entry."""

    reading: _Reading
    session: ConsumerSession
    known: Received


def _readers(timeline: Timeline) -> Iterator[Consumer]:
    case = timeline.view.case
    if ids_may_start_over(case):
        return
    for consumer in timeline.consumers:
        topic = case.topology.named(consumer.topics[0]) if len(consumer.topics) == 1 else None
        config = consumer.invoke.args.get("config") or {}
        is_reader = config.get("durable", True) is False and not in_force(timeline.view, consumer, "start_inclusive")
        if is_reader and topic is not None and topic.persistent and not topic.partitions:
            yield consumer


@check("subscription.reader-resumes-after-last-read", of=_readers)
def reader_resumes_after_last_read(timeline: Timeline, consumer: Consumer) -> Says:
    """subscription.reader-resumes-after-last-read: after a reconnect a reader begins with the last message it received,
    or after it, and receives none again: the broker does not keep its position.

    Known to the client is what the application received before the connection ended. Not judged are readers that
    request redelivery, those that include the message they start at, and those whose messages a fault altered or
    duplicated: from that moment on.
    """
    reading, wholes = _Reading(), list[_Whole]()
    sessions = {session.request.seq: session for session in consumer.sessions}
    for event in _in_order(timeline, consumer):
        if isinstance(event, Invoke):
            reading = _Reading(seeking=True)
        elif isinstance(event, Completion) and event.outcome is Outcome.OK:
            reading.seeking = False
        elif isinstance(event, Received):
            if reading.seeking:
                continue
            again = yield from _received(reading, event)
            if again:
                break
        elif isinstance(event, Frame) and event.seq in sessions and _is_plain(event):
            if not reading.seeking:
                wholes += yield from _subscribes(sessions[event.seq], reading)
        else:
            break
    for whole in wholes:
        yield from _names_whole(timeline, whole)


def _in_order(timeline: Timeline, consumer: Consumer) -> list[Invoke | Completion | Received | Frame]:
    """Return its events, in order.

    They are its seeks and their ends, what it received, its SUBSCRIBEs, its requests for redelivery, and MESSAGEs that
    a fault changed or doubled.
    """
    events, handle = timeline.events, consumer.handle
    frames = (frame for _, frame in timeline.frames_of(consumer, REDELIVER, "MESSAGE"))
    found: list[Invoke | Completion | Received | Frame] = [
        *timeline.received(consumer),
        *events.invokes_of(handle, "seek"),
        *events.completions_of(handle, "seek"),
        *(session.request for session in consumer.sessions if session.request.from_sender),
        *(one for one in frames if one.command == REDELIVER or one.fate in FORGED_OR_DOUBLED),
    ]
    return in_order(found)


def _is_plain(request: Frame) -> bool:
    return request.fields.get("subType") == "Exclusive" and request.fate is not Fate.ALTERED


def _received(reading: _Reading, event: Received) -> Generator[Judged, None, bool]:
    """Return whether ids went back for a reason that is not known."""
    known, request = reading.known, reading.request
    if not reading.received or _place(event) > _place(reading.received[-1]):
        reading.received.append(event)
        if known is not None:
            yield Exercised(event)
    elif known is not None and request is not None and _place(event) <= _place(known):
        yield breach(
            "handed-over-again",
            f"reader {event.handle} had received {known.message_id.full_name} at {ms(known.t_ns)}, and reconnected at "
            f"{ms(request.t_ns)}; expected only later messages; it received {event.message_id.full_name} at "
            f"{ms(event.t_ns)}",
            *(known, request, event),
        )
    else:
        return True
    return False


def _subscribes(session: ConsumerSession, reading: _Reading) -> Generator[Judged, None, list[_Whole]]:
    """Return what is judged last: messages received before a reconnect may be recorded after it, and what a topic
    stores, later."""
    before = _session_before(session)
    if before is None or before.ended is None or before.ended.seq > session.request.seq:
        return []
    end_ns = before.ended.t_ns - TOLERANCES["crossing"].slack_ns
    known = next((one for one in reversed(reading.received) if ended_ns(one) < end_ns), None)
    reading.known, reading.request = known, session.request
    place = _start(session.request.fields.get("start_message_id"))
    if known is None:
        return []
    if place is None or place < _place(known):
        how = "named no message of it" if place is None else _named_place(place)
        yield _differs("starts-elsewhere", session, known, how)
    elif place == (known.message_id.position, WHOLE) and known.message_id.batch_index >= 0:
        return [_Whole(reading, session, known)]
    else:
        yield Exercised(session.request)
    return []


def _names_whole(timeline: Timeline, whole: _Whole) -> Says:
    reading, session, known = whole
    sizes = {entry.id.position: entry.meta.messages for entry in reversed(timeline.stored_on(session.topic))}
    size = sizes.get(known.message_id.position, 0)
    until_ns = session.request.t_ns + TOLERANCES["notice"].slack_ns
    later = (one for one in reading.received if _place(one) > _place(known))
    if known.message_id.batch_index + 1 < size and not any(ended_ns(one) < until_ns for one in later):
        yield _differs("names-whole-entry", session, known, f"named {known.message_id.name} without an index")


def _differs(code: str, session: ConsumerSession, known: Received, how: str) -> Breach:
    return breach(
        code,
        f"reader {known.handle} had received {known.message_id.full_name} at {ms(known.t_ns)}; expected it to name "
        f"that message or a later one when it reconnected at {ms(session.request.t_ns)}; it {how}",
        *(known, session.request),
    )


def _session_before(session: ConsumerSession) -> ConsumerSession | None:
    """Return the last earlier session of its consumer that was admitted by then."""
    seq, sessions = session.request.seq, session.consumer.sessions if session.consumer is not None else []
    return next((one for one in reversed(sessions) if one.admitted is not None and one.admitted.seq < seq), None)


def _place(event: Received) -> Place:
    return event.message_id.position, max(event.message_id.batch_index, 0)


def _start(start: Mapping[str, Any] | None) -> Place | None:
    position = place_named(start)
    if position is None or position == FIRST:
        return None
    index = int((start or {}).get("batch_index", -1))
    return position, index if index >= 0 else WHOLE


def _named_place(place: Place) -> str:
    (ledger, entry), index = place
    return f"named {ledger}:{entry}" + ("" if index == WHOLE else f" (index {index})")
