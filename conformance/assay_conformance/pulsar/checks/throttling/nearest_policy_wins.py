"""throttling.nearest-policy-wins"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import Dispatches
from assay_conformance.pulsar.checks.throttling._windows import MessageWindows


class NearestPolicyWins(MessageWindows):
    """A rate of a nearer level overrules another of its kind: dispatch is too fast with the other where that is looser,
    and too slow where it is tighter.
    """

    requirement = RequirementId("throttling.nearest-policy-wins")

    def judges(self, limiter: Dispatches) -> bool:
        return limiter.level.overrules and not limiter.level.shared
