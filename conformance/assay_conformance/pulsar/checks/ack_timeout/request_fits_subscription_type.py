from __future__ import annotations

from assay_conformance.pulsar.checks.ack_timeout._held import EndedHold, ended
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.moments import RedeliverWritten


@check("ack-timeout.request-fits-subscription-type", of=ended)
def request_fits_subscription_type(timeline: Timeline, end: EndedHold) -> Says:
    """ack-timeout.request-fits-subscription-type: after a time-out, a redelivery request names ids on Shared and
    Key_Shared, and none on Exclusive and Failover. Judged where the time-out of a requested message has passed, so that
    nothing else explains the request."""
    by, bounds = end.by, timeline.bounds
    due = ((one, one.done_ns + end.span.least_ns) for one in end.held)
    over = [one for one, due_ns in due if not bounds.is_before("time-out-early", due_ns, by.event.t_ns)]
    if not isinstance(by, RedeliverWritten) or not over:
        return
    kind = str(by.session.request.fields.get("subType"))
    if by.session.is_ordered is not bool(by.named):
        yield Exercised(by.event)
        return
    asked, expected = "for everything", "the ids of what timed out"
    if by.named:
        asked, expected = "for it by its id", "a request without ids, which requests everything"
    yield breach(
        "ids-on-a-subscription-of-one" if by.named else "everything-on-a-shared-subscription",
        f"consumer {end.consumer.handle}, of subscription type {kind}, delivered {over[0].entry} at "
        f"{ms(over[0].event.t_ns)} and requested redelivery {asked} at {ms(by.event.t_ns)}, when its time-out had "
        f"passed; expected {expected}",
        *(over[0].event, by.event),
    )
