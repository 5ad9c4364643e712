"""What a call asked brokers for, and what was answered before it ended."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

from assay_conformance.history.events import between, grouped
from assay_conformance.model.event import Closed, ClosedBy, Completion, Event, Frame, Invoke
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline import (
    IN_FLIGHT_NS,
    Request,
    Timeline,
    UnknownError,
    whose,
)


class CallRequest(NamedTuple):
    """A request of a call: the last one for `what` (a topic, or a message). `answer`: what was written to the client
    before the call ended; `good`: it is no error; `lost`: the connection ended before an answer came."""

    what: str
    frame: Frame
    answer: Frame | None
    good: bool
    lost: Event | None = None


def asked(timeline: Timeline, end: Completion) -> list[CallRequest]:
    """Return what a call that ended so asked for.

    Raises `UnknownError` where whose the requests were is not known.
    """
    return list(_ASKED[end.verb](timeline, timeline.call(end), end))


def _opening_producer(timeline: Timeline, call: Invoke, end: Completion) -> Iterator[CallRequest]:
    timeline.check_owned(end.handle)
    for producer in timeline.producers_of(-1 if end.handle is None else end.handle):
        sessions = [one for one in producer.sessions if call.seq < one.request.seq < end.seq]
        good = next((one for one in sessions if one.was_admitted(end)), None)
        if sessions:
            last = good or sessions[-1]
            yield _asked(timeline, producer.topic, last.request, end, good=good is not None)


def _seq(request: Request) -> int:
    return request.frame.seq


def _opening_consumer(timeline: Timeline, call: Invoke, end: Completion) -> Iterator[CallRequest]:
    consumer = timeline.consumer(end.handle)
    if consumer is not None and consumer.unsure:
        raise UnknownError("two consumers may have written the same SUBSCRIBE: it is unknown whose it was")
    for topic, sessions in consumer.on_topic.items() if consumer is not None else ():
        its = [one for one in sessions if call.seq < one.request.seq < end.seq]
        good = next((one for one in its if one.was_admitted(end)), None)
        if its:
            yield _asked(timeline, topic, (good or its[-1]).request, end, good=good is not None)


def _of_consumer(command: str, timeline: Timeline, call: Invoke, end: Completion) -> Iterator[CallRequest]:
    """Yield the last request for each topic, or the last that was answered well."""
    consumer, found = timeline.consumer(end.handle), dict[str, CallRequest]()
    requests = timeline.requests(command)
    for place in range(bisect_right(requests, call.seq, key=_seq), bisect_left(requests, end.seq, key=_seq)):
        request = requests[place]
        session = timeline.consumer_sessions.of(request.frame)
        if session is None or session.consumer is not consumer:
            continue
        one = _asked(timeline, session.topic, request.frame, end)
        known = found.get(session.topic)
        if known is None or not known.good:
            found[session.topic] = one
    yield from found.values()


def _closing(timeline: Timeline, call: Invoke, end: Completion) -> Iterator[CallRequest]:
    """Yield what a producer or consumer asks for as it is closed; when a client is closed, its connections go."""
    for frame in between(timeline.once(_own_closes).get(end.handle, ()), call, end):
        registered = timeline.registered(frame)
        if registered is None or registered.admitted is None or registered.admitted.seq > call.seq:
            continue  # It was not let in: nothing need be waited for.
        one = _asked(timeline, registered.topic, frame, end)
        yield one._replace(lost=one.lost or _sent_away(timeline, frame, end))


def _own_closes(timeline: Timeline) -> dict[int | None, list[Frame]]:
    """Return what clients wrote to close producers and consumers, by handle."""
    frames = timeline.events.frames("CLOSE_PRODUCER", "CLOSE_CONSUMER")
    closes = (one for one in frames if one.from_sender and one.dir is Direction.TO_BROKER)
    owned = ((whose(timeline.registered(frame), frame), frame) for frame in closes)
    known = grouped(((owner.handle, frame) for owner, frame in owned if owner is not None), lambda one: one[0])
    return {handle: [frame for _, frame in its] for handle, its in known.items() if handle is not None}


def _sent_away(timeline: Timeline, close: Frame, end: Completion) -> Frame | None:
    """Return the broker's own close of the same, which may cross the client's: with it the broker has forgotten it."""
    by_id = timeline.events.frames_by(close.command, "conn", "producer_id", "consumer_id")
    both = by_id.get((close.conn, close.producer_id, close.consumer_id), ())
    return next((one for one in both if one.dir is Direction.TO_CLIENT and one.seq < end.seq), None)


def _sending(timeline: Timeline, call: Invoke, end: Completion) -> Iterator[CallRequest]:
    """Yield the unit in which it left; of a message in chunks, the last one."""
    timeline.check_pairing(end.handle)
    timeline.check_whole(-1 if end.handle is None else end.handle)
    timeline.check_untampered(end.handle)
    unit = timeline.unit_of(end)
    if unit is not None and call.seq < unit.first.seq:
        receipt = next((one for one in unit.receipts if one.seq < end.seq), None)
        error = next((one for one in unit.errors if one.seq < end.seq), None)
        yield CallRequest(str(unit), unit.first, receipt or error, receipt is not None)


_ASKED: Final[dict[str, Callable[[Timeline, Invoke, Completion], Iterator[CallRequest]]]] = {
    "open_producer": _opening_producer,
    "open_consumer": _opening_consumer,
    "seek": partial(_of_consumer, "SEEK"),
    "has_message_available": partial(_of_consumer, "GET_LAST_MESSAGE_ID"),
    "last_message_id": partial(_of_consumer, "GET_LAST_MESSAGE_ID"),
    "close": _closing,
    "send": _sending,
}


def _asked(timeline: Timeline, what: str, request: Frame, end: Completion, *, good: bool | None = None) -> CallRequest:
    answer = next((one for one in timeline.answers_to_requests.all_to(request) if one.seq < end.seq), None)
    closed = timeline.closed(request.conn)
    lost = closed if closed is not None and _is_gone(closed, end) else None
    if good is None:
        good = answer is not None and answer.command != "ERROR" and not answer.fields.get("error")
    return CallRequest(what, request, answer, good, lost)


def _is_gone(closed: Closed, end: Completion) -> bool:
    """Return whether a connection had ended when a call did.

    The client may know of that ahead of the bench, unless it ended the connection itself.
    """
    ended_by_others = closed.by is not ClosedBy.CLIENT and closed.t_ns - IN_FLIGHT_NS < end.t_ns
    return closed.seq < end.seq or ended_by_others
