from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import ErrorClass, Frame, Outcome
from assay_conformance.pulsar.timeline import (
    IN_FLIGHT_NS,
    TOLERANCES,
    Exercised,
    Says,
    Send,
    Timeline,
    Unit,
    Why,
    breach,
    check,
    ended_ns,
    ms,
)


class _Answered(NamedTuple):
    """A send whose unit got the receipt of a duplicate, in its turn and as its last answer."""

    receipt: Frame
    unit: Unit
    send: Send


def _answered(timeline: Timeline) -> Iterator[_Answered]:
    """Yield units that a duplicate's receipt answered.

    Not after a SEND_ERROR on the connection, which the client may have left because of that, nor behind the broker's
    CLOSE_PRODUCER. A receipt that does not answer the oldest unit is judged by another requirement.
    """
    duplicates = {frame.seq for frame in timeline.events.frames("SEND_RECEIPT") if is_duplicate(frame)}
    for unit in timeline.units if duplicates else ():
        receipt = unit.receipts[-1] if unit.receipts and not unit.errors else None
        if receipt is None or receipt.seq not in duplicates or not timeline.is_in_turn(receipt):
            continue
        session = timeline.session_of(receipt)
        sent_away = None if session is None else session.sent_away
        gone = sent_away is not None and sent_away.seq < receipt.seq
        if not gone and not timeline.connection(receipt.conn).has_seen(receipt, Why.SEND_ERROR):
            for send in timeline.sends(unit):
                yield _Answered(receipt, unit, send)


@check("dedup.duplicate-receipt-completes", of=_answered)
def duplicate_receipt_completes(timeline: Timeline, answered: _Answered) -> Says:
    """dedup.duplicate-receipt-completes: a receipt without an id completes its send as any other receipt does."""
    (receipt, unit, send), end = answered, answered.send.completion
    if end is not None and end.outcome is Outcome.OK:
        if end.seq > receipt.seq:
            yield Exercised(receipt)
        return
    if end is not None and (end.seq < receipt.seq or _had_timed_out(answered)):
        return
    if not _was_delivered(timeline, answered):
        return
    # A client that got no CPU time may time the send out before it reads the receipt.
    until_ns = timeline.bounds.end_ns if end is None else ended_ns(end)
    timeline.bounds.check_fair("answer", receipt.t_ns, until_ns, what="whether a receipt was read in time")
    came = "it never completed" if end is None else f"it ended as {end.error} at {ms(end.t_ns)}"
    yield breach(
        "not-completed",
        f"{unit.line}: message {send.invoke.number} got the receipt of a duplicate at {ms(receipt.t_ns)}, so it is "
        f"stored; expected its send to succeed; {came}",
        *(receipt, end or send.invoke),
    )


def _had_timed_out(answered: _Answered) -> bool:
    """Return whether its send time-out had passed before the client can have read the receipt."""
    end = answered.send.completion
    if end is None or end.error is not ErrorClass.TIMEOUT:
        return False
    return ended_ns(end) < answered.receipt.t_ns + IN_FLIGHT_NS


def _was_delivered(timeline: Timeline, answered: _Answered) -> bool:
    """Return whether the receipt could arrive, and the client had no reason to leave before it read it.

    Connection and producer lasted long enough. A send that failed at once failed because of this receipt; one that
    stays pending needs time to show that it does.
    """
    receipt, unit, end = answered.receipt, answered.unit, answered.send.completion
    if timeline.connection(receipt.conn).may_be_left_before(receipt):
        return False
    settled_ns = receipt.t_ns + TOLERANCES["answer"].slack_ns
    last_ns = timeline.bounds.until(timeline.closed(receipt.conn), unit.line.closing)
    return last_ns > (settled_ns if end is None else min(ended_ns(end), settled_ns))
