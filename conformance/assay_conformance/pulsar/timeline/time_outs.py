"""The client's own time-outs of its calls, and what a send may wait for within its time-out."""

from __future__ import annotations

from typing import Final

from assay_conformance.model.event import Event, Fate, Fired, Frame, Overdue
from assay_conformance.model.facts import Lack
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.outcomes.errors import BUSY, PASSING_ERRORS, PASSING_FOR_CONSUMERS
from assay_conformance.pulsar.timeline.request_turns import is_behind_close, topics_of
from assay_conformance.pulsar.timeline.served import ServedProducer
from assay_conformance.pulsar.timeline.timeline import Timeline

_LATER: Final = PASSING_ERRORS | PASSING_FOR_CONSUMERS | BUSY
"""Errors that may be temporary: some clients retry an opening after any of them until its time-out."""

_REQUESTS: Final = ("ack", "has_message_available", "last_message_id", "seek", "unsubscribe")
"""The calls on a consumer that send a request."""

OF_SENDS: Final = ("send", "flush")
"""The calls that end with the receipts of sends."""


def key_of(verb: str) -> str:
    """Return the configuration key that sets the time-out of a call."""
    return "send_timeout_ms" if verb in OF_SENDS else "operation_timeout_ms"


def time_out_ms(timeline: Timeline, verb: str, handle: int | None) -> int | None:
    """Return the time-out in force of a call: as configured, else what the client declares as its own.

    0 for one without, None where it is not known.
    """
    view, key = timeline.view, key_of(verb)
    set_to = view.producer_setting(handle or 0, key) if verb in OF_SENDS else view.client_setting(handle, key)
    return None if set_to is None else int(set_to)


def connecting_ms(timeline: Timeline, handle: int | None, at: Event) -> int | None:
    """Return how much longer a call may last that waits for an unanswered CONNECT.

    0 where there is none, None where the client does not state how long it waits. C++ looks at the time-out of a call
    only once the attempt to connect has ended, by its own `connectionTimeout`; Java gives up a handshake after a period
    of its keep-alive.
    """
    asked = (one for one in timeline.events.frames("CONNECT") if one.from_sender and one.seq < at.seq)
    if not any(_waits_for_connected(timeline, one, at) for one in asked):
        return 0
    set_to = timeline.view.client_setting(handle, "connection_timeout_ms")
    return None if set_to is None else int(set_to)


def _waits_for_connected(timeline: Timeline, connect: Frame, at: Event) -> bool:
    handshake = timeline.handshakes.on(connect.conn)
    return not timeline.had_closed(connect.conn, at) and (handshake is None or not handshake.is_before(at))


def waits_for_access(timeline: Timeline, handle: int | None, at: Event) -> bool:
    """Return whether the producer of a handle waits for exclusive access to one of its topics.

    It is still being opened then, for as long as that takes, and calls after its opening wait, too.
    """
    opening = timeline.openings.get(-1 if handle is None else handle)
    if opening is None or not timeline.is_pending(opening, at):
        return False
    topics = topics_of(timeline, opening)
    mine = (one for one in timeline.served_producers if base_topic(one.topic) in topics)
    return any(_waits_at(one, at) for one in mine)


def _waits_at(served: ServedProducer, at: Event) -> bool:
    ends = (served.admitted, served.lost, *served.closes)
    has_to_wait = served.waits is not None and served.waits.seq < at.seq
    return has_to_wait and all(end is None or end.seq > at.seq for end in ends)


def waits_for_receipt(timeline: Timeline, handle: int, at: Event, *, for_ever: bool) -> bool:
    """Return whether a send of this producer may still wait for its receipt.

    The producer is not closed, and a fault dropped something of a session that lasts (or of any, for a send that waits
    `for_ever`) or holds something, or it is the broker's turn: it refused the producer last, or has not answered a
    SEND; or the producer was interrupted only just before.
    """
    closed = timeline.close_of(handle)
    if closed is not None and closed.seq < at.seq:
        return False
    drops = [one for one in timeline.events.of(Fired) if one.action == "drop" and one.seq < at.seq]
    if for_ever and drops:
        return True
    numbers = {number for one in drops for number in one.frames}
    dropped = (one for one in timeline.dropped if one.frame in numbers)
    return (
        any(_lasts(timeline, frame, at) for frame in dropped)
        or _is_held_back(timeline, at)
        or _is_refused(timeline, handle, at)
        or _is_unanswered(timeline, handle, at)
        or _is_interrupted(timeline, handle, at)
    )


def was_put_off(timeline: Timeline, overdue: Overdue) -> bool:
    """Return whether the last answer to a producer or consumer that is being opened was an error that may be temporary.
    A client may try again, and calls on that handle wait for its opening.
    """
    call = timeline.opening_of(overdue.handle)
    if call is None or not timeline.is_pending(call, overdue):
        return False
    topics, put_off = topics_of(timeline, call), dict[tuple[int, str, int | None], bool]()
    for one in timeline.requests("PRODUCER", "SUBSCRIBE", "LOOKUP", "PARTITIONED_METADATA"):
        frame, answer = one.frame, one.answer
        is_mine = call.seq < frame.seq and base_topic(timeline.local_topic(frame)) in topics
        if is_mine and answer is not None and answer.seq < overdue.seq:
            id = frame.producer_id if frame.command == "PRODUCER" else frame.consumer_id
            put_off[frame.conn, frame.command, id] = one.error in _LATER
    return any(put_off.values())


def waits_on_closed(timeline: Timeline, overdue: Overdue) -> bool:
    """Return whether a request is for what was closed before."""
    call = timeline.call_of(overdue.op)
    return overdue.verb in _REQUESTS and call is not None and is_behind_close(timeline, call)


def turns_ahead(timeline: Timeline, overdue: Overdue) -> int:
    """Return how many sends have to end before one finds room in a queue that blocks; each may take its time-out."""
    handle, call = overdue.handle or 0, timeline.call_of(overdue.op)
    places = int(timeline.view.producer_setting(handle, "max_pending_messages") or 0)
    if overdue.verb != "send" or call is None or not places:
        return 0
    if not timeline.view.producer_setting(handle, "block_if_queue_full"):
        return 0
    sends = [send for send in timeline.sends_of(handle) if send.invoke.seq < call.seq]
    ahead = sum(send.is_pending(call) for send in sends)
    return max(0, ahead - places + 1)


def waits_behind_send(timeline: Timeline, overdue: Overdue) -> bool:
    """Return whether a call of a producer waits after a send: every send of its client blocks, and one goes on."""
    if Lack.OVERLAPPING_SENDS not in timeline.view.facts.lacks:
        return False
    ahead = (send for send in timeline.sends_of(overdue.handle) if send.invoke.op < overdue.op)
    return any(send.is_pending(overdue) for send in ahead)


def _lasts(timeline: Timeline, dropped: Frame, at: Event) -> bool:
    """Return whether nothing has ended what it belongs to, so that it would have to be sent again."""
    session = None if dropped.producer_id is None else timeline.session_of(dropped)
    ends = (timeline.closed(dropped.conn), None if session is None else session.sent_away)
    return all(end is None or end.seq > at.seq for end in ends)


def _is_held_back(timeline: Timeline, at: Event) -> bool:
    """Return whether a fault holds frames that were written by then, or has released them only just before."""
    held: set[tuple[int, int]] = set()
    for frame in timeline.moved:
        if frame.fate is Fate.HELD and frame.seq < at.seq:
            held.add((frame.conn, frame.frame))
        elif frame.seq < at.seq and timeline.bounds.is_past("answer", frame.t_ns, at.t_ns):
            held.discard((frame.conn, frame.frame))
    return bool(held)


def _is_unanswered(timeline: Timeline, handle: int, at: Event) -> bool:
    """Return whether a SEND of it came to a broker, and has no answer, though nothing ended its session."""
    for producer in timeline.producers_of(handle):
        for unit in timeline.pending.unanswered(producer, at):
            latest = [frame for _, frame in unit.sends if frame.seq < at.seq][-1]
            if latest.to_receiver and _lasts(timeline, latest, at):
                return True
    return False


def _is_interrupted(timeline: Timeline, handle: int, at: Event) -> bool:
    """Return whether it was interrupted so shortly before that what is sent again may have no answer yet: it was
    disconnected from its topic, tried to reconnect or was admitted again.
    """
    interruptions = (one for producer in timeline.producers_of(handle) for one in timeline.interruptions_of(producer))
    moments = (one for met in interruptions for one in (met.event, *met.attempts, met.over) if one is not None)
    return any(one.seq < at.seq and not timeline.bounds.is_past("answer", one.t_ns, at.t_ns) for one in moments)


def _is_refused(timeline: Timeline, handle: int, at: Event) -> bool:
    """Return whether an admitted producer was last answered, on one of its topics, to try again later."""
    for producer in timeline.producers_of(handle):
        mine = timeline.registrations_of(producer)
        answered = [one for one in mine if one.answer is not None and one.answer.seq < at.seq]
        if answered and answered[-1].error in PASSING_ERRORS and timeline.had_been_admitted(answered[-1]):
            return True
    return False
