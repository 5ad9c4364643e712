from __future__ import annotations

from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.timeline import Answer, Exercised, Says, Timeline, breach, check, ended_ns, ms


def _first_ahead(timeline: Timeline) -> list[Answer]:
    """Return the first receipt ahead on each connection."""
    first: dict[int, Answer] = {}
    for answer in timeline.answers:
        if answer.is_ahead and not answer.chosen_ids and answer.waited and not answer.is_for_a_closed_producer:
            first.setdefault(answer.frame.conn, answer)
    return list(first.values())


@check("resend.receipt-ahead-closes-connection", of=_first_ahead)
def receipt_ahead_closes_connection(timeline: Timeline, answer: Answer) -> Says:
    """resend.receipt-ahead-closes-connection: a receipt for a later send than the oldest unanswered one means that the
    oldest one's receipt was lost: the client closes the connection. (That it then sends again from the oldest on:
    resend.pending-sends-resent and resend.keeps-queue-order.)

    Not judged where the messages of the oldest unit are unknown: their sends may have timed out.
    """
    receipt, unit, oldest, bounds = answer.frame, answer.unit, answer.oldest, timeline.bounds
    if unit is None or oldest is None or unit.index <= oldest.index or not oldest.numbers:
        return
    timeline.check_pairing(answer.handle)
    ends = [send.completion for send in timeline.sends(oldest) if send.completion is not None]
    failed = [end for end in ends if end.outcome is not Outcome.OK]
    if any(not bounds.is_past("in-flight", receipt.t_ns, ended_ns(end)) for end in failed):
        return
    closed, left = timeline.closed(receipt.conn), timeline.connection(receipt.conn).left_by_client
    back = next((session.request for session in unit.line.sessions if session.request.seq > receipt.seq), None)
    until_ns = bounds.until(closed, unit.line.closing, back)
    if not bounds.is_past("answer", receipt.t_ns, until_ns):
        if left is not None and left.t_ns == until_ns:
            yield Exercised(receipt)
    # A broker that stops reading now and then learns late of a client that has left.
    elif timeline.view.is_read_at_once() and bounds.is_overdue(
        "answer", receipt.t_ns, until_ns, what="the client's end"
    ):
        yield Exercised(receipt)
        yield breach(
            "stayed",
            f"{unit.line}: a receipt for {unit} came at {ms(receipt.t_ns)} while {oldest} waited at the head of the "
            f"queue; expected the client to close connection {receipt.conn}; it still used it at {ms(until_ns)}",
            *(oldest.first, receipt, closed),
        )
