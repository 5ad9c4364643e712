from __future__ import annotations

from assay_conformance.checks.consumption import elapsed
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.nack._backoff import Growing, backoffs
from assay_conformance.pulsar.timeline import MS, Exercised, Says, Timeline, breach, check, ms


@check("nack.backoff-grows", of=backoffs)
def backoff_grows(timeline: Timeline, growing: Growing) -> Says:
    """nack.backoff-grows: the redelivery of a nacked message is requested after the backoff for its redelivery count,
    which is at most the maximum. An early request may be that of the acknowledgment time-out, where there is one."""
    call, window, event = growing.call, growing.window, growing.event
    redeliveries = timeline.redeliveries(call.message)
    did = "its redelivery was requested" if isinstance(event, Frame) else "its redelivery had not been requested"
    said = (
        f"the application nacked {call.entry} on consumer {call.consumer.handle} at {ms(call.invoke.t_ns)}, "
        f"redelivered {redeliveries} times so far, and {did} {elapsed(event.t_ns, growing.asked_ns)} later; expected "
        f"a backoff of {window.earliest_ns / MS:.0f} to {window.latest_ns / MS:.0f} ms"
    )
    if growing.is_early(timeline):
        if not timeline.setting(call.consumer, "ack_timeout_ms"):
            yield breach("too-early", said, call.invoke, event)
    elif not growing.is_late(timeline):
        if redeliveries:
            yield Exercised(event)
    elif growing.behind is None:
        timeline.bounds.check_fair("nack-late", growing.asked_ns, event.t_ns, what="whether it was requested too late")
        yield breach("too-late", said, call.invoke, event)
