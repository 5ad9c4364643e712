"""routing.single-partition-is-random"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._first_partition import StartsCheck


class SinglePartitionIsRandom(StartsCheck):
    requirement = RequirementId("routing.single-partition-is-random")
    routing = "single"
