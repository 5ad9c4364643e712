from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Began
from assay_conformance.pulsar.timeline import MS, TOLERANCES, Exercised, Says, Send, Timeline, Unit, breach, check, ms


def _for_later(timeline: Timeline) -> Iterator[tuple[Unit, Send]]:
    for producer in timeline.producers if timeline.events.of(Began) else ():
        for send in timeline.sends_of(producer.handle):
            unit = timeline.unit_with(send) if send.invoke.args else None
            if unit is not None and unit.line is producer:
                yield unit, send


@check("delayed.sets-deliver-at-time", of=_for_later)
def sets_deliver_at_time(timeline: Timeline, subject: tuple[Unit, Send]) -> Says:
    """delayed.sets-deliver-at-time: SEND has the delivery time that was asked for. A delay counts from some moment
    between call and SEND. Judged for messages sent alone in their entry."""
    unit, send = subject
    frame, call, unix_ms = unit.first, send.invoke, timeline.events.of(Began)[0].unix_ms
    at_ms, after_ms = call.args.get("deliver_at_ms"), call.args.get("deliver_after_ms")
    if frame.meta is None or frame.meta.batch is not None:
        return
    if at_ms is not None:
        earliest_ms = latest_ms = int(at_ms)
    elif after_ms is None:
        return
    else:
        slack_ns = TOLERANCES["wall-clock"].slack_ns
        earliest_ms = unix_ms + int(after_ms) + (call.t_ns - slack_ns) // MS
        latest_ms = unix_ms + int(after_ms) - (-(frame.t_ns + slack_ns) // MS)
    yield Exercised(frame)
    sent_ms = frame.meta.deliver_at_ms
    if sent_ms is None or not earliest_ms <= sent_ms <= latest_ms:
        expected = f"{earliest_ms}" if earliest_ms == latest_ms else f"from {earliest_ms} to {latest_ms}"
        yield breach(
            "no-time" if sent_ms is None else "other-time",
            f"message {call.number} of producer {call.handle} was sent at {ms(frame.t_ns)} with deliver_at_time "
            f"{sent_ms or 'not set'}; expected {expected} (Unix milliseconds)",
            *(call, frame),
        )
