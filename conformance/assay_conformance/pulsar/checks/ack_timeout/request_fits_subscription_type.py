"""What a request names when the time-out is over, by the type of the subscription."""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import EntryKey
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.written import Request
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.ack_timeout._held import Held, HeldCheck
from assay_conformance.pulsar.checks.ack_timeout._timeouts import Span

_ALONE = frozenset({"Exclusive", "Failover"})
"""Types whose broker brings everything again, whatever a request names."""


class RequestFitsSubscriptionType(HeldCheck):
    """Judged where the time-out of something that is asked for is over, so that nothing else explains the request."""

    requirement = RequirementId("ack-timeout.request-fits-subscription-type")

    def asked_for(self, request: Request, held: dict[EntryKey, Held], span: Span) -> None:
        least_ns = span.least_ns - TOLERANCES["time-out-early"].slack_ns
        over = [(key[1], one.event) for key, one in held.items() if request.frame.t_ns - one.done_ns >= least_ns]
        if not over:
            return
        kind = str(request.session.request.fields.get("subType"))
        if (kind in _ALONE) is not bool(request.frame.ids):
            self.exercise(request.frame)
            return
        entry, since = over[0]
        asked, expected = (
            ("for it by its id", "a request without ids, which asks for everything")
            if request.frame.ids
            else ("for everything", "the ids of what timed out")
        )
        self.breach(
            "ids-on-a-subscription-of-one" if request.frame.ids else "everything-on-a-shared-subscription",
            f"consumer {request.consumer.handle}, of subscription type {kind}, handed {entry} over at {ms(since.t_ns)} "
            f"and asked {asked} at {ms(request.frame.t_ns)} when its time-out was over, expected {expected}",
            since,
            request.frame,
        )
