from __future__ import annotations

from assay_conformance.pulsar.checks.throttling._rates import plain_limiters, throttles_all
from assay_conformance.pulsar.checks.throttling._windows import judge_not_exceeded
from assay_conformance.pulsar.timeline import Exercised, Limiter, Says, Timeline, check, each


@check("throttling.redelivery-is-charged", where=throttles_all)
def redelivery_is_charged(timeline: Timeline) -> Says:
    """throttling.redelivery-is-charged: what is dispatched a second time is charged like the first."""
    repeated = [one for one in plain_limiters(timeline) if one.rate.messages > 0 and one.again]
    yield from each(repeated, _judge_charged, timeline)


def _judge_charged(timeline: Timeline, limiter: Limiter) -> Says:
    yield from (Exercised(frame) for frame in limiter.again)
    yield from judge_not_exceeded(timeline, limiter)
