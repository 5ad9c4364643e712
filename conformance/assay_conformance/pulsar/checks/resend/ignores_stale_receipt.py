from __future__ import annotations

from assay_conformance.model.event import Completion, Frame, Outcome
from assay_conformance.pulsar.timeline import Answer, Exercised, Fit, Says, Send, Timeline, Why, breach, check, each, ms


@check("resend.ignores-stale-receipt")
def ignores_stale_receipt(timeline: Timeline) -> Says:
    """resend.ignores-stale-receipt: a receipt that is for no pending send completes none, and is no reason to
    reconnect; and no send completes twice."""
    receipts = [answer for answer in timeline.answers if answer.frame.command == "SEND_RECEIPT"]
    yield from each(receipts, _keeps_its_connection, timeline)
    yield from each(timeline.completed_again("send"), _completes_once, timeline)
    if any(answer.place is Fit.NONE for answer in receipts):
        yield from each(timeline.ends("send"), _judge_completed_by_its_own, timeline, receipts)


def _keeps_its_connection(timeline: Timeline, answer: Answer) -> Says:
    stale, unit = answer.frame, answer.unit
    if unit is None or answer.fit is not Fit.NONE:
        return
    if timeline.has_another_reason(stale, unit.line, Why.RECEIPT_STALE):
        if _stayed_for_a_while(timeline, stale):
            yield Exercised(stale)
        return
    timeline.handle(unit.line)
    timeline.check_pairing(*timeline.receipted_on(stale.conn))
    timeline.check_untampered(*timeline.receipted_on(stale.conn))
    left = timeline.left_over(stale, unit.line)
    yield Exercised(stale)
    if left is not None:
        yield breach(
            "left-the-connection",
            f"{unit.line}: the client closed connection {left.conn} at {ms(left.t_ns)}, after a stale receipt for "
            f"sequence id {stale.sequence_id} at {ms(stale.t_ns)}; expected it to ignore that",
            *(stale, left),
        )


def _stayed_for_a_while(timeline: Timeline, stale: Frame) -> bool:
    """Return whether the client, which left for another reason, had read the receipt long before."""
    left = timeline.connection(stale.conn).left_by_client
    return left is not None and timeline.bounds.is_past("in-flight", stale.t_ns, left.t_ns)


def _completes_once(timeline: Timeline, ended_twice: tuple[Send, Completion]) -> Says:
    send, again = ended_twice
    first, unit = send.completion, timeline.unit_of(again)
    if first is not None and again.handle is not None:
        receipts = [receipt for receipt in unit.receipts if receipt.seq < again.seq] if unit is not None else []
        yield breach(
            "completed-twice",
            f"producer {again.handle}: expected message {send.invoke.number or 0} to complete once; it completed at "
            f"{ms(first.t_ns)} ({first.outcome}) and again at {ms(again.t_ns)} ({again.outcome})",
            first,
            again,
            *receipts[-1:],
        )


def _judge_completed_by_its_own(timeline: Timeline, receipts: list[Answer], end: Completion) -> Says:
    """Judge whether a send is completed by its own receipt.

    Not judged where the last receipt was one ahead of this producer's oldest send: that is another requirement's.
    """
    unit = timeline.unit_of(end) if end.outcome is Outcome.OK else None
    if unit is None or any(receipt.seq < end.seq for receipt in unit.receipts):
        return
    before = [answer for answer in reversed(receipts) if answer.frame.seq < end.seq and not answer.chosen_ids]
    stale = next((answer.frame for answer in before if answer.unit is not None and answer.place is Fit.NONE), None)
    ahead = next((answer.frame for answer in before if answer.is_ahead and answer.handle == end.handle), None)
    if stale is None or (ahead is not None and ahead.seq > stale.seq):
        return
    timeline.owner(unit.line)
    timeline.check_pairing(end.handle)
    yield breach(
        "completed-by-stale-receipt",
        f"{unit.line}: message {timeline.number(end)} was reported as sent at {ms(end.t_ns)}; expected that only on a "
        f"receipt for {unit}; none was written to the client, only one for sequence id {stale.sequence_id} at "
        f"{ms(stale.t_ns)}",
        *(stale, unit.first, end),
    )
