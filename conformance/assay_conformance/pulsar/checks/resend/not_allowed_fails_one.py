from __future__ import annotations

from collections.abc import Iterable, Iterator

from assay_conformance.model.event import Completion, ErrorClass, Event, Frame, Outcome
from assay_conformance.pulsar.checks.resend._refused_sends import (
    RefusedSend,
    could_not_look_up,
    refused_sends,
    until_ns,
)
from assay_conformance.pulsar.timeline import (
    OWN_ENDS,
    Breach,
    Exercised,
    Says,
    Timeline,
    Unit,
    breach,
    check,
    ended_ns,
    ms,
)


def _refused(timeline: Timeline) -> Iterable[RefusedSend]:
    """Return the first refusal of each unit: one that was sent again may be refused again, and that is one breach."""
    return {one.unit: one for one in reversed(list(refused_sends(timeline, "NotAllowedError")))}.values()


@check("resend.not-allowed-fails-one", of=_refused)
def not_allowed_fails_one(timeline: Timeline, refused: RefusedSend) -> Says:
    """resend.not-allowed-fails-one: a send that gets NotAllowedError fails at once, is not sent again, and no other
    send fails with it."""
    timeline.owner(refused.unit.line)
    again, end, error = refused.again, refused.end, refused.error
    if again is not None:
        yield _breach("sent-again", refused, f"it was sent again on connection {again.conn} at {ms(again.t_ns)}", again)
    elif end is None or end.error is ErrorClass.TIMEOUT:
        ends_ns = until_ns(timeline, refused) if end is None else ended_ns(end)
        if timeline.bounds.is_overdue("answer", error.t_ns, ends_ns, what="a failure"):
            yield _breach("not-failed", refused, f"its send had not failed by {ms(ends_ns)}", end)
    elif end.outcome is not Outcome.OK:
        other = next(_taken_along(timeline, refused, end), None)
        if other is None:
            yield Exercised(error)
        else:
            came = f"message {timeline.number(other)} failed as well at {ms(other.t_ns)} ({other.error})"
            yield _breach("took-others-along", refused, came, end, other)


def _taken_along(timeline: Timeline, refused: RefusedSend, end: Completion) -> Iterator[Completion]:
    """Yield sends of that producer that the broker did not refuse, and that failed with the refused one.

    So do those that ended otherwise than by their receipts.
    """
    error, producer = refused.error, refused.unit.line
    for send in timeline.sends_of(producer.handle):
        other, unit = send.completion, timeline.unit_with(send)
        if other is None or other is end or unit is None or unit.errors or other.seq < error.seq:
            continue
        registered = any(error.seq < session.request.seq < other.seq for session in producer.sessions)
        if registered or could_not_look_up(timeline, error, other):
            continue
        soon = timeline.bounds.ended_soon_after(error, other)
        same = other.error is end.error and other.text == end.text and other.error not in OWN_ENDS
        if (same and soon) or _is_unheard(timeline, error, unit, other):
            yield other


def _is_unheard(timeline: Timeline, error: Frame, unit: Unit, end: Completion) -> bool:
    """Return whether it timed out long after its receipt came after that error, on a connection that lived on."""
    receipt = next((receipt for receipt in unit.receipts if receipt.seq > error.seq), None)
    if end.error is not ErrorClass.TIMEOUT or receipt is None or receipt.conn != error.conn:
        return False
    ends_ns = min(ended_ns(end), timeline.bounds.until(timeline.closed(receipt.conn)))
    return timeline.bounds.is_overdue("answer", receipt.t_ns, ends_ns, what="a receipt")


def _breach(code: str, refused: RefusedSend, came: str, *proof: Event | None) -> Breach:
    return breach(
        code,
        f"{refused.unit.line}: {refused.unit} was refused at {ms(refused.error.t_ns)} (NotAllowedError); that send was "
        f"expected to fail, and no other; {came}",
        *(refused.error, *proof),
    )
