from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from assay_conformance.model.event import Completion, ErrorClass, Event, Frame, Outcome
from assay_conformance.pulsar.timeline import (
    LOST_CONNECTION,
    Breach,
    Exercised,
    ProducerSession,
    Says,
    Timeline,
    Unit,
    breach,
    check,
    each,
    ended_ns,
    ms,
)


@check("resend.pending-sends-resent")
def pending_sends_resent(timeline: Timeline) -> Says:
    """resend.pending-sends-resent: on each new session, once it was admitted, every unit without a receipt is sent
    again.

    Proof that it was not: a later unit left on that session, or the session lasted longer than a reconnect may take. A
    send that timed out, or whose producer was closed, need not be sent again.
    """
    yield from each(timeline.failed_sends, _fails_instead, timeline)
    yield from each(_owed(timeline), _leaves_again, timeline)


def _fails_instead(timeline: Timeline, failed: Completion) -> Says:
    """Judge a send that fails instead.

    Where something stands between the client and the link, the client may know of the end before the link.
    """
    unit = timeline.unit_of(failed) if failed.error in LOST_CONNECTION else None
    if unit is None or unit.answered_before(failed.seq) or unit.line.closing_before(failed.seq):
        return
    conn = next(session.conn for session, frame in reversed(unit.sends) if frame.seq < failed.seq)
    closed = timeline.closed(conn)
    if closed is not None and not timeline.bounds.is_past("in-flight", failed.t_ns, closed.t_ns):
        yield breach(
            "failed-instead",
            f"{unit.line}: sequence id {unit.sequence_id} was sent at {ms(unit.first.t_ns)}, and connection {conn} "
            f"ended at {ms(closed.t_ns)}; expected it to be sent again; the send failed at {ms(failed.t_ns)} "
            f"({failed.error})",
            *(unit.first, closed, failed),
        )


class _Owed(NamedTuple):
    """A unit that is to leave again on a session, which was admitted and lasts until then at most."""

    unit: Unit
    session: ProducerSession
    ready: Frame
    until_ns: int


def _owed(timeline: Timeline) -> Iterator[_Owed]:
    for producer in timeline.producers:
        following = (session.request for session in producer.sessions[2:])
        for session, then in zip_longest(producer.sessions[1:], following):
            ready = session.ready
            if ready is not None and not producer.closing_before(ready.seq):
                until_ns = timeline.bounds.until(timeline.closed(session.conn), session.sent_away, then)
                yield from (_Owed(unit, session, ready, until_ns) for unit in timeline.pending.open(producer, ready))


def _leaves_again(timeline: Timeline, owed: _Owed) -> Says:
    unit, session, ready, until_ns = owed
    timeline.check_sessions(unit.line)
    again, sends = unit.sent_on(session), list(timeline.sends(unit))
    if again is not None:
        yield Exercised(again)
        return
    ends = [send.completion for send in sends if send.completion is not None]
    if not sends or any(end.error is ErrorClass.CLOSED for end in ends):
        return
    gave_up_ns = min((ended_ns(end) for end in ends if end.outcome is not Outcome.OK), default=until_ns)
    later = (behind.sent_on(session) for behind in unit.line.units[unit.index + 1 :])
    overtaking = next((frame for frame in later if frame is not None), None)
    if overtaking is not None and timeline.bounds.is_past("in-flight", overtaking.t_ns, gave_up_ns):
        yield _breach(owed, overtaking)
        return
    until_ns = min(until_ns, gave_up_ns, timeline.bounds.until(unit.line.closing))
    if timeline.bounds.is_overdue("reconnect", ready.t_ns, until_ns, what="a resend"):
        yield _breach(owed, *ends[:1])


def _breach(owed: _Owed, *proof: Event) -> Breach:
    unit, session, ready, _ = owed
    after = f"; {unit.line} went on there at {ms(proof[0].t_ns)}" if proof else ""
    return breach(
        "not-sent-again",
        f"{unit.line}: {unit}, sent at {ms(unit.first.t_ns)}, has no receipt; expected it to be sent again; it was "
        f"not on connection {session.conn}, where the producer was admitted at {ms(ready.t_ns)}{after}",
        *(unit.first, ready, *proof),
    )
