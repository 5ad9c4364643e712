"""throttling.all-levels-hold"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import Dispatches
from assay_conformance.pulsar.checks.throttling._windows import DispatchWindows


class AllLevelsHold(DispatchWindows):
    """Where several levels have rates, each holds as if it were alone. (A lower bound would hold for the tightest
    only.)"""

    requirement = RequirementId("throttling.all-levels-hold")

    def judges(self, limiter: Dispatches) -> bool:
        return limiter.level.shared

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        if limiter.rate.messages > 0:
            yield "messages", limiter.rate.messages, limiter.messages
