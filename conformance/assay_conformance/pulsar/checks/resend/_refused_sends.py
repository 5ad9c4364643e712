"""What a client makes of a SEND_ERROR. (TopicTerminatedError: `terminated_fails_all.py`.)

| error                                         | what it means             | what is owed                       |
|-----------------------------------------------|---------------------------|------------------------------------|
| PersistenceError, MetadataError, UnknownError | the broker cannot now     | the send again, registered again   |
| ChecksumError                                 | corrupted on the way      | the send again, if its own is good |
| NotAllowedError                               | this one is not taken     | it fails, and nothing else does    |

Judged are messages sent alone: the error of a batch may name its last id, that of a chunk its message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.history.events import between
from assay_conformance.model.event import Completion, Event, Frame, Outcome
from assay_conformance.pulsar.timeline import (
    OWN_ENDS,
    RESENDS,
    Breach,
    Exercised,
    Fit,
    Says,
    Send,
    Timeline,
    Unit,
    breach,
    ended_ns,
    ms,
)


class RefusedSend(NamedTuple):
    """A send that had not ended when a SEND_ERROR came for it. `again`: the first SEND of it after that."""

    error: Frame
    unit: Unit
    send: Send
    again: Frame | None

    @property
    def end(self) -> Completion | None:
        return self.send.completion


def refused_sends(timeline: Timeline, *errors: str) -> Iterator[RefusedSend]:
    """Yield sends alone in their unit that were the oldest unanswered ones when they were refused so.

    The client read the refusal. Left out are those after another SEND_ERROR on their connection, since a client may
    have left over that.
    """
    first = {frame.conn: frame for frame in reversed(timeline.events.frames("SEND_ERROR")) if frame.to_receiver}
    for answer in timeline.answers:
        error, unit = answer.frame, answer.unit
        is_oldest = answer.place is Fit.OLDEST and not answer.is_for_a_closed_producer
        if (
            unit is None
            or first.get(error.conn) is not error
            or not is_oldest
            or error.fields.get("error") not in errors
        ):
            continue
        again = next((frame for _, frame in unit.sends if frame.seq > error.seq), None)
        for send in timeline.sends(unit) if len(unit.numbers) == 1 and not unit.is_chunk else ():
            if timeline.was_read(error) and send.is_pending(error):
                yield RefusedSend(error, unit, send, again)


def until_ns(timeline: Timeline, refused: RefusedSend) -> int:
    """Return when the error's session was over, or the Case, or the producer."""
    return timeline.bounds.until(timeline.closed(refused.error.conn), refused.unit.line.closing)


def could_not_look_up(timeline: Timeline, since: Event, end: Event) -> bool:
    """Return whether a lookup failed between these two: what then failed, failed for that."""
    answers = timeline.events.frames("LOOKUP_RESPONSE")
    return any(since.seq < one.seq < end.seq and one.to_receiver and one.fields.get("error") for one in answers)


def judge_sent_again(timeline: Timeline, refused: RefusedSend) -> Says:
    """Judge whether the send leaves again, without an error for the application.

    Its time may be up before, or its producer be refused.
    """
    timeline.owner(refused.unit.line)
    again, end = refused.again, refused.end
    if again is None and end is not None and _is_lost_with_its_connection(timeline, refused, end):
        return
    if end is not None and end.outcome is not Outcome.OK and (again is None or end.seq < again.seq):
        if end.error not in OWN_ENDS and not _is_shut_out(timeline, refused, end):
            yield _breach("failed", refused, f"its send failed at {ms(end.t_ns)} ({end.error}: {end.text})", end)
        elif again is None and (passed := _passed_over(timeline, refused, end)) is not None:
            yield _breach("left-out", refused, f"a later send left at {ms(passed.t_ns)} without it", passed, end)
    elif again is not None:
        yield Exercised(again)
    elif end is None and _just_goes_on(timeline, refused):
        yield _breach("not-sent-again", refused, "it was not")


def _just_goes_on(timeline: Timeline, refused: RefusedSend) -> bool:
    """Return whether neither was the connection left over it nor did the producer register again."""
    since_ns, ends_ns = refused.error.t_ns, until_ns(timeline, refused)
    registers = any(session.request.seq > refused.error.seq for session in refused.unit.line.sessions)
    return not registers and timeline.bounds.is_overdue("reconnect", since_ns, ends_ns, what="a resend")


def _is_lost_with_its_connection(timeline: Timeline, refused: RefusedSend, end: Completion) -> bool:
    """Return whether the send is lost with its connection.

    A client that does not resend after a lost connection owes a reaction to the error only while the connection lasts.
    """
    return not timeline.can(RESENDS) and bool(between(timeline.losses, refused.error, end))


def _is_shut_out(timeline: Timeline, refused: RefusedSend, end: Completion) -> bool:
    """Return whether lookup or registration was refused after the error: its sends fail with that."""
    sessions = (one for one in refused.unit.line.sessions if one.request.seq > refused.error.seq)
    return could_not_look_up(timeline, refused.error, end) or any(one.ready is None for one in sessions)


def _passed_over(timeline: Timeline, refused: RefusedSend, end: Completion) -> Frame | None:
    """Return what is after it in the queue and left on a later session, while its own send was still to end."""
    producer = refused.unit.line
    ends_ns = min(ended_ns(end), timeline.bounds.until(producer.closing))
    sessions = [session for session in producer.sessions if session.request.seq > refused.error.seq]
    behind = producer.units[refused.unit.index + 1 :]
    left = (frame for session in sessions for later in behind if (frame := later.sent_on(session)) is not None)
    return next((frame for frame in left if timeline.bounds.is_past("in-flight", frame.t_ns, ends_ns)), None)


def _breach(code: str, refused: RefusedSend, came: str, *proof: Event) -> Breach:
    unit, error = refused.unit, refused.error
    return breach(
        code,
        f"{unit.line}: {unit}, sent at {ms(unit.first.t_ns)}, was answered {error.fields.get('error')} at "
        f"{ms(error.t_ns)}; it was expected to be sent again, and {came}",
        *(unit.first, error, *proof),
    )
