from __future__ import annotations

from assay_conformance.model.event import Fate, Fired, Frame, Outcome
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, ms


def _altered(timeline: Timeline) -> list[Frame]:
    receipts = timeline.events.frames("SEND_RECEIPT")
    return [receipt for receipt in receipts if receipt.fate is Fate.ALTERED and receipt.to_receiver]


@check("resend.checks-highest-sequence-id", of=_altered)
def checks_highest_sequence_id(timeline: Timeline, receipt: Frame) -> Says:
    """resend.checks-highest-sequence-id: a receipt with another highest_sequence_id than its batch (a fault altered it)
    does not complete the batch: the client sends it again, or closes the connection."""
    unit = timeline.confirmed_by(receipt)
    if unit is None or not _names_another_highest(unit, receipt) or _may_be_over(timeline, unit, receipt):
        return
    again = any(send.seq > receipt.seq for _, send in unit.sends)
    is_answered = again or _is_given_up(timeline, receipt)
    if not is_answered and _comes_too_late(timeline, unit, receipt):
        return
    yield Exercised(receipt)
    if not is_answered:
        yield breach(
            "taken",
            f"{unit.line}: the receipt at {ms(receipt.t_ns)} has highest_sequence_id {receipt.highest_sequence_id}, "
            f"which is not that of the batch with sequence id {unit.sequence_id}; expected the batch to be sent "
            "again, or the connection to be closed; the client did neither",
            *(unit.first, receipt),
        )


def _names_another_highest(unit: Unit, receipt: Frame) -> bool:
    """Return whether the receipt names another highest id than that of the batch.

    That its SEND names the highest id is another clause: a client knows what it has batched.
    """
    ids = [member.sequence_id for member in unit.first.members if member.sequence_id is not None]
    highest = receipt.highest_sequence_id or 0
    return len(ids) > 1 and receipt.sequence_id == unit.sequence_id < highest != max(ids)


def _may_be_over(timeline: Timeline, unit: Unit, receipt: Frame) -> bool:
    """Return whether its sends may have timed out: then nothing is left to send again."""
    if not unit.numbers:
        return any(end.handle == unit.line.handle for end in timeline.failed_sends)
    ends = (send.completion for send in timeline.sends(unit))
    return any(end is not None and end.outcome is not Outcome.OK and end.seq < receipt.seq for end in ends)


def _is_given_up(timeline: Timeline, receipt: Frame) -> bool:
    """Return whether the client closed the connection by itself; or at once, whatever else the application ended."""
    left = timeline.connection(receipt.conn).left_by_client
    if left is None:
        return False
    return not timeline.bounds.is_past("in-flight", receipt.t_ns, left.t_ns) or not timeline.has_begun_to_end(left.seq)


def _comes_too_late(timeline: Timeline, unit: Unit, receipt: Frame) -> bool:
    """Return whether the receipt comes too late.

    Its connection ended, but not by the client, or a fault swallowed what it carried, as the receipt came; or its
    producer closed.
    """
    cuts = (one for one in timeline.events.of(Fired) if one.action == "cut" and one.conn == receipt.conn)
    ends = [end for end in (timeline.connection(receipt.conn).lost, next(cuts, None)) if end is not None]
    at_once = any(not timeline.bounds.is_past("in-flight", receipt.t_ns, end.t_ns) for end in ends)
    return at_once or unit.line.closing_before(receipt.seq)
