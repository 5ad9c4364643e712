"""throttling.repays-overshoot"""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import ms
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._dispatches import DispatchCheck, Dispatches


class RepaysOvershoot(DispatchCheck):
    """After a read that overdrew, nothing leaves until the periods since then have paid for it.

    A read is what leaves within a tenth of a period. When one begins, the tokens there were at some earlier read (R at
    most) and those that have flowed in by then must exceed what has left since that read. A read may have had its
    tokens as soon as the one before it had left: a broker takes its time; and what had flowed in before that, for
    almost a period, may have been added after it (AsyncTokenBucket adds all at once, once a period at most).
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
            for number, (earlier, count) in reversed(list(enumerate(reads[:place]))):
                since += count
                granted_ns = reads[number - 1][0].t_ns if number else limiter.began_ns
                flows_ns = began.t_ns - granted_ns + limiter.period_ns + limiter.period_ns // 8
                allowed = rate + rate * flows_ns // limiter.period_ns
                if since >= allowed:
                    self.found(
                        "not-repaid",
                        f"{limiter.what} has a rate of {rate} messages per {limiter.rate.period_s} s; {since} "
                        "left from "
                        f"{ms(earlier.t_ns)} on, and the next one already at {ms(began.t_ns)}, when no more than "
                        f"{allowed} can have been allowed",
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
