"""throttling.rate-per-partition"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import Dispatches
from assay_conformance.pulsar.checks.throttling._supply import SupplyCheck


class RatePerPartition(SupplyCheck):
    """The lower bound for each partition of a topic. (For the upper bound each is a topic like any other.)"""

    requirement = RequirementId("throttling.rate-per-partition")

    def judges(self, limiter: Dispatches) -> bool:
        return super().judges(limiter) and limiter.is_partition and limiter.rate.bytes <= 0

    def judge(self, limiter: Dispatches) -> None:
        if self.judge_from_below(limiter):
            self.exercise(limiter.frames[-1])
