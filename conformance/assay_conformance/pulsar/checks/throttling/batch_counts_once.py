"""throttling.batch-counts-once"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import Dispatches
from assay_conformance.pulsar.checks.throttling._supply import SupplyCheck


class BatchCountsOnce(SupplyCheck):
    """A batch is charged as one message: the lower bound counts entries. (The upper bound charges entries anyway.)"""

    requirement = RequirementId("throttling.batch-counts-once")

    def judges(self, limiter: Dispatches) -> bool:
        batched = any(frame.messages > 1 for frame in limiter.frames)
        alone = limiter.rate.bytes <= 0
        return super().judges(limiter) and self.settings.rate_counts_entries and batched and alone

    def judge(self, limiter: Dispatches) -> None:
        if self.judge_from_below(limiter):
            self.exercise(limiter.frames[-1])
