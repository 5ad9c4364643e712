from __future__ import annotations

from assay_conformance.checks.consumption import elapsed, from_client
from assay_conformance.ledger.clauses import earliest_ms
from assay_conformance.model.event import Invoke
from assay_conformance.pulsar.timeline import MS, TOLERANCES, Consumer, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.moments import SettleCompleted


@check("nack.dropped-on-close", of=lambda timeline: timeline.nacking)
def dropped_on_close(timeline: Timeline, consumer: Consumer) -> Says:
    """nack.dropped-on-close: closing a consumer does not wait for negative acknowledgments whose delay has not
    passed."""
    delay_ms, closing = timeline.setting(consumer, "nack_delay_ms"), consumer.closing
    if delay_ms is None or not isinstance(closing, Invoke):
        return
    before = [
        one for one in timeline.moments(consumer) if isinstance(one, SettleCompleted) and one.event.seq < closing.seq
    ]
    calls = [one.call for one in before if one.is_nack and one.session is not None]
    early_ns = closing.t_ns + 2 * TOLERANCES["answer"].slack_ns
    if not calls or early_ns >= calls[-1].called_ns + earliest_ms(delay_ms, None) * MS:
        return
    sessions = timeline.sessions_at(consumer, closing).values()
    if not any(one is not None and one.was_admitted(closing) for one in sessions):
        return
    closes = [one for each in consumer.sessions for one in timeline.consumer_sessions.frames(each, "CLOSE_CONSUMER")]
    after = sorted((one for one in closes if from_client(one) and one.seq > closing.seq), key=lambda one: one.seq)
    for close in after[:1]:
        late = breach(
            "close-waited",
            f"consumer {consumer.handle} was asked to close at {ms(closing.t_ns)}, with nacked messages not due yet; "
            f"expected CLOSE_CONSUMER at once; it left {elapsed(close.t_ns, closing.t_ns)} later",
            *(closing, close),
        )
        yield from timeline.bounds.response("answer", closing, close, late)
