"""throttling.nearest-policy-wins"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import Dispatches
from assay_conformance.pulsar.checks.throttling._windows import MessageWindows


class NearestPolicyWins(MessageWindows):
    """Rates that overrule another of their kind: too fast where the other one is looser, starved where it is tighter.

    What leaves after the first tokens shows that a rate is not tighter, what does not that it is not looser.
    """

    requirement = RequirementId("throttling.nearest-policy-wins")

    def judges(self, limiter: Dispatches) -> bool:
        return limiter.level.overrules and not limiter.level.shared
