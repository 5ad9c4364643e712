"""The least time-out a client takes, a constant of its agent.toml: below it a time-out is refused."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import number_in_force
from assay_conformance.model.event import Completion, Outcome
from assay_conformance.model.requirement import RequirementId


class MinimumEnforced(Check):
    """A consumer that is opened with a time-out below the minimum does not open."""

    requirement = RequirementId("ack-timeout.minimum-enforced")
    skips_plain = True

    @on(Completion, "open_consumer")
    def opened(self, event: Completion) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle or 0)
        if consumer is None:
            return
        asked_ms = number_in_force(self.view, consumer, "ack_timeout_ms")
        least_ms = number_in_force(self.view, consumer, "ack_timeout_min_ms")
        if not asked_ms or least_ms is None or asked_ms >= least_ms:
            return
        if event.outcome is Outcome.FAIL:
            self.exercise(event)
        elif event.outcome is Outcome.OK:
            self.breach(
                "taken",
                f"consumer {consumer.handle} opened at {ms(event.t_ns)} with an acknowledgment time-out of {asked_ms} "
                f"ms; the client's minimum is {least_ms} ms, expected it to be refused",
                consumer.invoke,
                event,
            )
