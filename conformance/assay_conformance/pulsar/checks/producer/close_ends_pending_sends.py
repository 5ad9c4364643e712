from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion, ErrorClass, Frame, Invoke, Outcome
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline import (
    FINAL_ERRORS,
    TOLERANCES,
    Exercised,
    Request,
    Says,
    Send,
    Timeline,
    Unit,
    Why,
    breach,
    check,
    each,
    ms,
)
from assay_conformance.pulsar.timeline.callbacks import waits_for_answer


@check("producer.close-ends-pending-sends")
def close_ends_pending_sends(timeline: Timeline) -> Says:
    """producer.close-ends-pending-sends: after CLOSE_PRODUCER nothing is sent, and every pending send ends once: with
    success if its receipt came in time, that is, was written to the client before the answer to CLOSE_PRODUCER.

    Judged are closes of a connected producer (a disconnected one: `resend.closed-stays-closed`).
    """
    closes = _closes(timeline)
    yield from each(_sent_behind(timeline, closes), _judge_sent_behind)
    yield from each(_pending(timeline), _ends, timeline, closes)


Closes = dict[int, Request]
"""PRODUCER of a session, by its `seq` -> its first CLOSE_PRODUCER."""


def _closes(timeline: Timeline) -> Closes:
    found: Closes = {}
    for request in timeline.requests("CLOSE_PRODUCER"):
        session = timeline.session_of(request.frame)
        if request.frame.dir is Direction.TO_BROKER and session is not None:
            found.setdefault(session.request.seq, request)
    return found


def _sent_behind(timeline: Timeline, closes: Closes) -> Iterator[tuple[Frame, Frame]]:
    """Yield SENDs after a CLOSE_PRODUCER of their session, with that."""
    places = {(one.frame.conn, one.frame.producer_id): one.frame.seq for one in reversed(closes.values())}
    for frame in timeline.events.frames("SEND") if closes else ():
        first = places.get((frame.conn, frame.producer_id))
        if first is not None and first < frame.seq and frame.from_sender:
            session = timeline.session_of(frame)
            close = None if session is None else closes.get(session.request.seq)
            if close is not None and close.frame.seq < frame.seq:
                yield close.frame, frame


def _judge_sent_behind(frames: tuple[Frame, Frame]) -> Says:
    close, send = frames
    yield breach(
        "sent-after-close",
        f"a SEND of sequence id {send.sequence_id} left on connection {send.conn} at {ms(send.t_ns)}; expected none "
        f"after the CLOSE_PRODUCER of its producer at {ms(close.t_ns)}",
        *(close, send),
    )


class _Pending(NamedTuple):
    """A send that had not ended when its producer was closed, or was asked for after that; `closed`: how the close
    ended, where it succeeded."""

    handle: int
    close: Invoke
    closed: Completion | None
    send: Send


def _pending(timeline: Timeline) -> Iterator[_Pending]:
    for handle in timeline.openings:
        close, closed = timeline.closing(handle), timeline.close_of(handle)
        if isinstance(close, Invoke) and close.handle == handle:
            for send in timeline.sends_of(handle):
                # What waits in a callback may keep its own client from reading the receipt.
                waits_inside = "in_callback" in send.invoke.args and waits_for_answer(
                    send.invoke, acks_are_answered=False
                )
                if not waits_inside and send.is_pending(close):
                    yield _Pending(handle, close, closed, send)


def _ends(timeline: Timeline, closes: Closes, pending: _Pending) -> Says:
    handle, close, closed, send = pending
    timeline.check_owned(handle)
    end, unit = send.completion, timeline.unit_with(send)
    if send.invoke.seq > close.seq:
        if closed and closed.seq < send.invoke.seq and end and end.outcome is Outcome.OK:
            sentence = f"producer {handle} was closed at {ms(closed.t_ns)}, and a later send succeeded"
            yield breach("sent-when-closed", f"{sentence} at {ms(end.t_ns)}", closed, end)
    elif not _has_closed(timeline, handle, unit, closes):
        return
    elif end is None:
        end_ns = timeline.bounds.end_ns
        if closed and timeline.bounds.is_overdue("answer", closed.t_ns, end_ns, what="a pending send"):
            yield breach(
                "left-pending",
                f"producer {handle} was closed at {ms(closed.t_ns)}; expected the send of message "
                f"{send.invoke.number}, called before, to end; it had not when the Case ended at {ms(end_ns)}",
                *(send.invoke, closed),
            )
    elif unit is None or end.outcome is Outcome.OK or end.error is ErrorClass.TIMEOUT or unit.errors:
        yield Exercised(end)
    else:
        yield from _fails(timeline, closes[unit.session.request.seq].answer, pending, unit, end)


def _has_closed(timeline: Timeline, handle: int, unit: Unit | None, closes: Closes) -> bool:
    """Return whether the session was closed on which a message left; for one that never left, any of its producer."""
    if unit is not None:
        return unit.session.request.seq in closes
    sessions = (timeline.session_of(one.frame) for one in closes.values())
    lines = (one.line for one in sessions if one is not None)
    return any(line is not None and line.handle == handle for line in lines)


def _fails(timeline: Timeline, answer: Frame | None, pending: _Pending, unit: Unit, end: Completion) -> Says:
    """Judge a send that failed: its receipt did not come in time, or may never have been read."""
    receipt = None if answer is None else next(_in_time(timeline, unit, answer), None)
    if answer is None or receipt is None or _stops_reading(timeline, pending, answer, end):
        yield Exercised(end)
        return
    timeline.check_forged_answers(receipt, pending.handle)
    timeline.check_pairing(pending.handle)
    yield breach(
        "failed-though-stored",
        f"producer {pending.handle} was closed while message {pending.send.invoke.number} was pending; its receipt "
        f"came at {ms(receipt.t_ns)}, before the answer to CLOSE_PRODUCER at {ms(answer.t_ns)}; expected its send to "
        f"succeed; it failed at {ms(end.t_ns)} ({end.error})",
        *(receipt, answer, end),
    )


def _stops_reading(timeline: Timeline, pending: _Pending, answer: Frame, end: Completion) -> bool:
    """Return whether the client may have read no further.

    What was written to a client around the end of its connection may never have been read, nor what came after bytes
    that are no frame. One that is closed after its producer waits for nothing more, nor does one wait longer for the
    answer than its operations may take.
    """
    connection, client = timeline.connection(answer.conn), timeline.openings[pending.handle].args.get("client")
    cut = connection.lost is not None and connection.lost.seq < end.seq
    is_garbled = any(reason.why is Why.NOT_A_FRAME for reason in connection.reasons)
    whole = any(call.handle == client and call.seq < end.seq for call in timeline.events.invokes("close"))
    timeout_ns = timeline.operation_timeout_ns()
    least_ns = timeout_ns - TOLERANCES["time-out-early"].slack_ns
    return cut or is_garbled or whole or bool(timeout_ns and end.t_ns - pending.close.t_ns >= least_ns)


def _in_time(timeline: Timeline, unit: Unit, answer: Frame) -> Iterator[Frame]:
    """Yield its receipts on the connection of that answer and before it that had to be read.

    None of them is ahead of an older send's, after one over which the client left, or behind the broker's own
    CLOSE_PRODUCER.
    """
    errors = (one for one in timeline.events.frames("SEND_ERROR") if one.to_receiver and one.conn == answer.conn)
    own = (one for one in errors if one.producer_id == unit.session.producer_id)
    final = next((one for one in own if one.fields.get("error") in FINAL_ERRORS), None)
    until = min(end.seq for end in (answer, unit.session.sent_away, final) if end is not None)
    for receipt in unit.receipts:
        if receipt.conn == answer.conn and receipt.seq < until and timeline.was_read(receipt):
            older = (one for one in unit.line.units[: unit.index] if one.session is unit.session)
            if all(_is_settled(timeline, one, receipt) for one in older):
                yield receipt


def _is_settled(timeline: Timeline, unit: Unit, receipt: Frame) -> bool:
    """Return whether it was receipted by then, or given up before its producer was closed."""
    closing = unit.line.closing
    given_up = closing is not None and timeline.had_ended(unit, closing.seq)
    return given_up or any(one.seq < receipt.seq for one in unit.receipts)
