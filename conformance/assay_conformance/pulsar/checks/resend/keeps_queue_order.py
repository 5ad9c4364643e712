from __future__ import annotations

from assay_conformance.pulsar.timeline import Exercised, Resent, Says, Timeline, breach, check, ms


@check("resend.keeps-queue-order", of=lambda timeline: timeline.resent)
def keeps_queue_order(timeline: Timeline, resent: Resent) -> Says:
    """resend.keeps-queue-order: on a new session units are sent in queue order, the oldest first, and none that has its
    receipt is sent again."""
    unit, session, again, (furthest, its_send) = resent
    ready = session.admitted
    # Sent twice on one session, it was the broker that requested it.
    if ready is None or ready.seq > again.seq or unit.sent_on(session) is not again:
        return
    yield Exercised(again)
    if unit.index < furthest.index:
        yield breach(
            "out-of-order",
            f"{unit.line}: expected {unit} to be sent again before {furthest}, which is after it in the queue; on "
            f"connection {session.conn} it was sent at {ms(again.t_ns)}, and {furthest} at {ms(its_send.t_ns)}",
            *(unit.first, its_send, again),
        )
    sends = list(timeline.sends(unit))
    acknowledged = [one.completion for one in sends if one.completion is not None and one.had_succeeded(ready)]
    if acknowledged and len(acknowledged) == len(sends):
        yield breach(
            "sent-after-receipt",
            f"{unit.line}: {unit} had completed at {ms(acknowledged[0].t_ns)}; expected it not to be sent again; it "
            f"was, on connection {session.conn} at {ms(again.t_ns)}, where the producer was admitted at "
            f"{ms(ready.t_ns)}",
            *(acknowledged[0], ready, again),
        )
