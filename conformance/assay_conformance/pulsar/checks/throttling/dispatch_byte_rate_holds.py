"""throttling.dispatch-byte-rate-holds"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import Dispatches
from assay_conformance.pulsar.checks.throttling._windows import DispatchWindows


class DispatchByteRateHolds(DispatchWindows):
    """Rates in bytes only, with an upper and a lower bound; the bytes are those of entries as they are stored."""

    requirement = RequirementId("throttling.dispatch-byte-rate-holds")

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        if limiter.rate.bytes > 0 and limiter.rate.messages <= 0:
            yield "bytes", limiter.rate.bytes, limiter.sizes

    def judge(self, limiter: Dispatches) -> None:
        super().judge(limiter)
        if limiter.rate.messages <= 0:
            self.judge_from_below(limiter, "bytes")
