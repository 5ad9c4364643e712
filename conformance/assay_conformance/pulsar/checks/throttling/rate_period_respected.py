"""throttling.rate-period-respected"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import Dispatches
from assay_conformance.pulsar.checks.throttling._windows import MessageWindows


class RatePeriodRespected(MessageWindows):
    """Periods of more than a second."""

    requirement = RequirementId("throttling.rate-period-respected")

    def judges(self, limiter: Dispatches) -> bool:
        return limiter.rate.period_s > 1 and not limiter.level.shared and not limiter.level.overrules
