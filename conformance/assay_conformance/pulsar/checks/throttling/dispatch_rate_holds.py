"""throttling.dispatch-rate-holds"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import Dispatches
from assay_conformance.pulsar.checks.throttling._windows import MessageWindows


class DispatchRateHolds(MessageWindows):
    """Rates of one level, with a period of a second. What partitions, and batches that count as one, are given at least
    is for the checks of these."""

    requirement = RequirementId("throttling.dispatch-rate-holds")

    def has_floor(self, limiter: Dispatches) -> bool:
        return not self.settings.rate_counts_entries and not limiter.is_partition
