"""nack.backoff-grows"""

from __future__ import annotations

from assay_conformance.checks.consumption import elapsed
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.nack._backoff import Growing, backoffs
from assay_conformance.pulsar.timeline import MS, Exercised, Says, Timeline, breach, check, ms


@check("nack.backoff-grows", of=backoffs)
def backoff_grows(timeline: Timeline, growing: Growing) -> Says:
    """nack.backoff-grows: each refusal waits for as long as its redelivery count says, and no longer than the maximum.
    What comes early may be the acknowledgment time-out's, where there is one."""
    call, window, event = growing.call, growing.window, growing.event
    redeliveries = timeline.redeliveries(call.message)
    did = "the client asked for it again" if isinstance(event, Frame) else "the client had not asked for it"
    said = (
        f"the application nacked {call.entry} on consumer {call.consumer.handle} at {ms(call.invoke.t_ns)}, "
        f"redelivered {redeliveries} times so far, and {did} "
        f"{elapsed(event.t_ns, growing.asked_ns)} later; its backoff says {window.earliest_ns / MS:.0f} to "
        f"{window.latest_ns / MS:.0f} ms"
    )
    if growing.is_early(timeline):
        if not timeline.setting(call.consumer, "ack_timeout_ms"):
            yield breach("too-early", said, call.invoke, event)
    elif not growing.is_late(timeline):
        if redeliveries:
            yield Exercised(event)
    elif growing.behind is None:
        timeline.bounds.check_fair("nack-late", growing.asked_ns, event.t_ns, what="whether it was asked for too late")
        yield breach("too-late", said, call.invoke, event)
