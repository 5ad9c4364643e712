"""ack-timeout.tick-within-timeout"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.ack_timeout.redelivery_requested_in_time import AckTimeoutRedeliveryRequestedInTime


class TickWithinTimeout(AckTimeoutRedeliveryRequestedInTime):
    """The same of time-outs that are no whole number of ticks, or shorter than one."""

    requirement = RequirementId("ack-timeout.tick-within-timeout")
    judges_even = False
