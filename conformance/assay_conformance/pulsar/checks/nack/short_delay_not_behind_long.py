from __future__ import annotations

from assay_conformance.pulsar.checks.nack._backoff import Growing, backoffs
from assay_conformance.pulsar.timeline import MS, Exercised, Says, Timeline, breach, check, ms


@check("nack.short-delay-not-behind-long", of=backoffs)
def short_delay_not_behind_long(timeline: Timeline, growing: Growing) -> Says:
    """nack.short-delay-not-behind-long: a nacked message with a short backoff is requested when its own time has come,
    although one with a longer backoff was nacked before it."""
    call, event = growing.call, growing.event
    if growing.behind is None or growing.is_early(timeline):
        return
    if not growing.is_late(timeline):
        yield Exercised(event)
        return
    longer = growing.behind.call
    timeline.bounds.check_fair("nack-late", growing.asked_ns, event.t_ns, what="whether it waited for a longer delay")
    yield breach(
        "waits-for-longer",
        f"the application nacked {longer.entry} on consumer {call.consumer.handle} at {ms(longer.invoke.t_ns)}, and "
        f"{call.entry} at {ms(call.invoke.t_ns)}, which is due sooner; expected a request for its redelivery within "
        f"{growing.window.latest_ns / MS:.0f} ms; there was none by {ms(event.t_ns)}",
        *(longer.invoke, call.invoke, event),
    )
