"""routing.round-robin-random-start"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._first_partition import StartsCheck


class RoundRobinRandomStart(StartsCheck):
    """Without batching: the windows of batches begin where the clock says."""

    requirement = RequirementId("routing.round-robin-random-start")
    routing = "round_robin"

    def judged(self, handle: int) -> bool:
        return super().judged(handle) and self.view.producer_setting(handle, "batching") is False
