"""throttling.replay-overshoots-once"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from assay_conformance.model.event import Event
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import Dispatches
from assay_conformance.pulsar.checks.throttling._windows import DispatchWindows


class ReplayOvershootsOnce(DispatchWindows):
    """Where redelivered and new entries are sent together, one read may exceed the rate, and is repaid."""

    requirement = RequirementId("throttling.replay-overshoots-once")

    def judges(self, limiter: Dispatches) -> bool:
        return super().judges(limiter) and 0 < len(limiter.again) < len(limiter.frames)

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        if limiter.rate.messages > 0:
            yield "messages", limiter.rate.messages, limiter.messages

    def exercised_by(self, limiter: Dispatches, _rate: int, _charges: Sequence[int]) -> Iterator[Event]:
        """Yield new entries that are sent within a period of a redelivered one."""
        again = {frame.seq for frame in limiter.again}
        for earlier, frame in pairwise(limiter.frames):
            mixed = (earlier.seq in again) != (frame.seq in again)
            if mixed and frame.t_ns - earlier.t_ns < limiter.period_ns:
                yield frame
