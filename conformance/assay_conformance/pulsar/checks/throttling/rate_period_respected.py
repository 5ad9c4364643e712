from __future__ import annotations

from assay_conformance.pulsar.checks.throttling._rates import throttles_all
from assay_conformance.pulsar.checks.throttling._supply import judge_gets_the_rate
from assay_conformance.pulsar.checks.throttling._windows import judge_kept
from assay_conformance.pulsar.timeline import Says, Timeline, check, each


@check("throttling.rate-period-respected", where=throttles_all)
def rate_period_respected(timeline: Timeline) -> Says:
    """throttling.rate-period-respected: a rate with a period of more than a second is neither exceeded nor denied."""
    alone = [one for one in timeline.limiters if not one.level.shared and not one.level.overrules]
    limited = [one for one in alone if one.rate.messages > 0 and one.rate.bytes <= 0 and one.rate.period_s > 1]
    yield from each(limited, judge_kept, timeline)
    yield from each(limited, judge_gets_the_rate, timeline)
