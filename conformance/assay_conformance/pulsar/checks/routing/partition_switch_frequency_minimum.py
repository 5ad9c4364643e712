"""routing.partition-switch-frequency-minimum"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.model.event import Completion, ErrorClass, Outcome
from assay_conformance.model.requirement import RequirementId


class PartitionSwitchFrequencyMinimum(Check):
    """A window of less than one publish delay is refused."""

    requirement = RequirementId("routing.partition-switch-frequency-minimum")
    skips_plain = True

    @on(Completion, "open_producer")
    def opened(self, event: Completion) -> None:
        delays = self.view.producer_setting(event.handle or 0, "batching_partition_switch_frequency")
        if delays is None or int(delays) >= 1 or event.outcome is Outcome.UNSUPPORTED:
            return
        if event.error is ErrorClass.INVALID_CONFIG:
            self.exercise(event)
        elif event.outcome is Outcome.OK:
            self.breach(
                "taken",
                f"producer {event.handle} was opened at {ms(event.t_ns)} with windows of {delays} publish delays; at "
                "least one is needed for a batch to fill, and a refusal was expected",
                self.tracker.lines.openings[event.handle or 0],
                event,
            )
