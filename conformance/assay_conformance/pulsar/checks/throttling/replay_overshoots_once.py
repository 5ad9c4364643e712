from __future__ import annotations

from itertools import pairwise

from assay_conformance.pulsar.checks.throttling._rates import plain_limiters, throttles_all
from assay_conformance.pulsar.checks.throttling._windows import judge_not_exceeded
from assay_conformance.pulsar.timeline import Exercised, Limiter, Says, Timeline, check, each


@check("throttling.replay-overshoots-once", where=throttles_all)
def replay_overshoots_once(timeline: Timeline) -> Says:
    """throttling.replay-overshoots-once: where redelivered and new entries are sent together, one read may exceed
    the rate, and is repaid."""
    mixed = [one for one in plain_limiters(timeline) if 0 < len(one.again) < len(one.frames)]
    yield from each((one for one in mixed if one.rate.messages > 0), _judge_repaid, timeline)


def _judge_repaid(timeline: Timeline, limiter: Limiter) -> Says:
    again = {frame.seq for frame in limiter.again}
    for earlier, frame in pairwise(limiter.frames):
        is_other = (earlier.seq in again) != (frame.seq in again)
        if is_other and frame.t_ns - earlier.t_ns < limiter.period_ns:
            yield Exercised(frame)
    yield from judge_not_exceeded(timeline, limiter)
