"""Single reads: how large they may be, and how one that overdrew is repaid."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import ms
from assay_conformance.checks.throttling.dispatching import (
    DispatchCheck,
    Dispatches,
)
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class ReadsWithinQuota(DispatchCheck):
    """A read takes no more entries than there are tokens. Two reads side by side in a tenth of a period, one at the end
    of a period and one in the next, have the tokens of both."""

    requirement = RequirementId("throttling.reads-within-quota")

    def judge(self, limiter: Dispatches) -> None:
        rate = limiter.rate.messages
        if rate <= 0 or sum(limiter.messages) <= rate:
            return
        for began, last, entries in _bursts(limiter):
            self.exercise(began)
            most = 2 * rate * limiter.readers
            if entries > most:
                self.found(
                    "read-too-large",
                    f"{limiter.what} has a rate of {rate} messages per {limiter.rate.period_s} s; {entries} entries "
                    f"left from {ms(began.t_ns)} to {ms(last.t_ns)}, where reads can have taken {most} at most",
                    began,
                    last,
                )
                return


class RepaysOvershoot(DispatchCheck):
    """After a read that overdrew, nothing leaves until the periods since then have paid for it.

    A read is what leaves within a tenth of a period. When one begins, the tokens there were at some earlier read (R at
    most) and those added since (one period's more than have passed) must exceed what has left since that read.
    Several subscriptions on one limiter may read side by side and are not judged.
    """

    requirement = RequirementId("throttling.repays-overshoot")

    def judge(self, limiter: Dispatches) -> None:
        if len(limiter.subscriptions) > 1 or limiter.redelivered or limiter.rate.messages <= 0:
            return
        rate = limiter.rate.messages
        reads = list(_reads(limiter))
        for place, (began, _) in enumerate(reads):
            since = 0
            if place and reads[place - 1][1] > rate:
                self.exercise(began)
            for earlier, count in reversed(reads[:place]):
                since += count
                passed = (began.t_ns - earlier.t_ns + limiter.period_ns // 8) // limiter.period_ns
                if since >= rate * (passed + 2):
                    self.found(
                        "not-repaid",
                        f"{limiter.what} has a rate of {rate} messages per {limiter.rate.period_s} s; {since} "
                        "left from "
                        f"{ms(earlier.t_ns)} on, and the next one already at {ms(began.t_ns)}, when no more than "
                        f"{rate * (passed + 2)} can have been allowed",
                        earlier,
                        began,
                    )
                    return


def _reads(limiter: Dispatches) -> Iterator[tuple[Frame, int]]:
    """Reads as far as they can be told apart: what left within a tenth of a period, and how many messages it was."""
    began, count = limiter.frames[0], 0
    for frame, messages in zip(limiter.frames, limiter.messages, strict=True):
        if frame.t_ns - began.t_ns > limiter.period_ns // 10:
            yield began, count
            began, count = frame, 0
        count += messages
    yield began, count


def _bursts(limiter: Dispatches) -> Iterator[tuple[Frame, Frame, int]]:
    """What left within a tenth of a period: its first and last frame, and how many entries it was."""
    began = last = limiter.frames[0]
    count = 0
    for frame in limiter.frames:
        if frame.t_ns - began.t_ns > limiter.period_ns // 10:
            yield began, last, count
            began, count = frame, 0
        last = frame
        count += 1
    yield began, last, count
