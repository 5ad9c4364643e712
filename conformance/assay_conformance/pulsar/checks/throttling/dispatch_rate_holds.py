"""throttling.dispatch-rate-holds"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import Dispatches
from assay_conformance.pulsar.checks.throttling._windows import MessageWindows


class DispatchRateHolds(MessageWindows):
    """Rates of one level, with a period of a second. The lower bound of partitions, and of batches that count as one,
    is judged by other checks."""

    requirement = RequirementId("throttling.dispatch-rate-holds")

    def judges_lower_bound(self, limiter: Dispatches) -> bool:
        return not self.settings.rate_counts_entries and not limiter.is_partition
