"""throttling.reads-within-quota"""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import ms
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import DispatchCheck, Dispatches


class ReadsWithinQuota(DispatchCheck):
    """A read takes no more entries than there are tokens. Two reads within a tenth of a period, one at the end of a
    period and one in the next, have the tokens of both."""

    requirement = RequirementId("throttling.reads-within-quota")

    def judge(self, limiter: Dispatches) -> None:
        rate = limiter.rate.messages
        if rate <= 0 or sum(limiter.messages) <= rate:
            return
        for began, last, entries in _bursts(limiter):
            self.exercise(began)
            most = 2 * rate * limiter.concurrent_reads
            if entries > most:
                self.report(
                    "read-too-large",
                    f"{limiter.what} has a rate of {rate} messages per {limiter.rate.period_s} s; expected reads of at "
                    f"most {most} entries within a tenth of a period; {entries} were sent from {ms(began.t_ns)} to "
                    f"{ms(last.t_ns)}",
                    began,
                    last,
                )
                return


def _bursts(limiter: Dispatches) -> Iterator[tuple[Frame, Frame, int]]:
    """Yield what left within a tenth of a period: the first and last frame, and the number of entries."""
    began = last = limiter.frames[0]
    count = 0
    for frame in limiter.frames:
        if frame.t_ns - began.t_ns > limiter.period_ns // 10:
            yield began, last, count
            began, count = frame, 0
        last = frame
        count += 1
    yield began, last, count
