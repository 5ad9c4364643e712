from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.history.events import after
from assay_conformance.model.event import Closed, ClosedBy, Event, Frame, Invoke
from assay_conformance.pulsar.timeline import (
    MS,
    TOLERANCES,
    Breach,
    Call,
    ConsumerSession,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    known_owner,
    ms,
)


def _owed(timeline: Timeline) -> Iterator[tuple[Call, Event]]:
    """Yield acks that were asked for when the client must have known that their consumer had no connection, each with
    the end of its last session.

    A call that says nothing which an earlier one had not said need not be sent.
    """
    settled: set[tuple[int, Entry]] = set()
    for ack in timeline.ack_calls:
        call, key = ack.call, (ack.handle, ack.entry)
        if not ack.is_whole or timeline.closing_before(call.consumer, call.invoke):
            continue
        lost = None if ack.is_covered or key in settled else _lost_for(call)
        settled.add(key)
        if lost is not None and not _is_unnoticed(timeline, lost, call):
            yield call, lost


def _lost_for(call: Call) -> Event | None:
    """Return what ended the last session, where the message came on a lost one and the client is not back yet.

    The client had time to notice the loss.
    """
    asked = call.invoke
    sessions = [one for one in call.consumer.on_topic.get(call.entry.topic, ()) if one.request.seq < asked.seq]
    ended = [one.ended for one in sessions if one.ended is not None and one.had_ended(asked)]
    before = [one for one in sessions if one.request.seq < call.message.seq]
    if not before or before[-1].ended not in ended or any(one.is_there(asked) for one in sessions):
        return None
    return ended[-1] if asked.t_ns >= ended[-1].t_ns + TOLERANCES["notice"].slack_ns else None


def _is_unnoticed(timeline: Timeline, lost: Event, call: Call) -> bool:
    """Return whether an ACK left on a connection that had ended: in a black hole the client does not see its end."""
    if not isinstance(lost, Closed | Frame) or (isinstance(lost, Frame) and lost.to_receiver):
        return False
    acks = timeline.events.frames_by("ACK", "conn").get(lost.conn, ())
    return any(ack.from_sender for ack in after(acks, call.invoke))


@check("ack.kept-while-disconnected", of=_owed)
def kept_while_disconnected(timeline: Timeline, owed: tuple[Call, Event]) -> Says:
    """ack.kept-while-disconnected: an acknowledgment called while the consumer has no connection is sent after it has
    reconnected.

    An ACK written before the broker has admitted the new SUBSCRIBE has no effect, since the broker does not know the
    consumer yet. The answer to SUBSCRIBE need not have reached the client: Java clients do not wait for it.
    """
    call, lost = owed
    left, interval_ms = _left(timeline, call), timeline.setting(call.consumer, "ack_group_ms")
    for session, end in _chances(timeline, call):
        if left is not None and left.seq < end.seq:
            break
        ready = None if session is None else session.admitted
        if ready is not None and interval_ms is not None:
            is_past = timeline.bounds.is_past("ack-flush", ready.t_ns + interval_ms * MS, end.t_ns)
            if is_past and call.operation.had_succeeded(end):
                timeline.bounds.check_fair("ack-flush", lost.t_ns, end.t_ns, what="whether an ACK was lost")
                yield _lost(call, lost, ready, end)
            if is_past or _hides_acks(end):
                return
        if end is call.consumer.closing:
            return
    if left is not None:
        yield Exercised(left)


def _sessions(timeline: Timeline, call: Call) -> Iterator[tuple[ConsumerSession, Frame]]:
    """Yield the sessions on which it may have left, and when each was admitted."""
    for session in call.consumer.on_topic.get(call.entry.topic, ()):
        if session.admitted is not None and not session.had_ended(call.invoke):
            yield session, session.admitted


def _left(timeline: Timeline, call: Call) -> Frame | None:
    found = []
    for session, admitted in _sessions(timeline, call):
        let_in = timeline.consumer_sessions.let_in(session) or admitted
        since: Event = let_in if let_in.seq > call.invoke.seq else call.invoke
        ack = timeline.written_acks(session).first(call.entry, since)
        if ack is not None and known_owner(session, ack) is call.consumer:
            found.append(ack)
    return min(found, key=lambda ack: ack.seq, default=None)


def _chances(timeline: Timeline, call: Call) -> list[tuple[ConsumerSession | None, Event]]:
    """Return where a session was over by which it should have left, and where the application closes the consumer."""
    found: list[tuple[ConsumerSession | None, Event]] = []
    for session, admitted in _sessions(timeline, call):
        for end in timeline.consumer_sessions.ends(session):
            if end.seq > max(admitted.seq, call.invoke.seq) and known_owner(session, end) is call.consumer:
                found.append((session, end))
    closing = call.consumer.closing
    if isinstance(closing, Invoke) and closing.seq > call.invoke.seq:
        session_then = timeline.session_at(call.consumer, call.entry.topic, closing)
        live = session_then is not None and session_then.was_admitted(closing)
        found.append((session_then if live else None, closing))
    return sorted(found, key=lambda one: one[1].seq)


def _hides_acks(end: Event) -> bool:
    """Return whether an ACK on a session that ends so may have been lost before it was seen, or is owed no more."""
    if isinstance(end, Closed):
        return end.by is not ClosedBy.CLIENT
    return isinstance(end, Frame) and end.command in ("SEEK", "UNSUBSCRIBE")


def _lost(call: Call, lost: Event, ready: Frame, end: Event) -> Breach:
    return breach(
        "lost-while-away",
        f"consumer {call.consumer.handle} lost its connection at {ms(lost.t_ns)} and was asked to acknowledge "
        f"{call.entry} at {ms(call.invoke.t_ns)}; it was subscribed again at {ms(ready.t_ns)}; expected the ACK then; "
        f"none had left by {ms(end.t_ns)}",
        *(call.invoke, ready, end),
    )
