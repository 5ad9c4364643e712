from __future__ import annotations

from assay_conformance.pulsar.checks.throttling._rates import throttles_all
from assay_conformance.pulsar.checks.throttling._supply import judge_gets_the_rate
from assay_conformance.pulsar.checks.throttling._windows import judge_kept
from assay_conformance.pulsar.timeline import Says, Timeline, check, each


@check("throttling.nearest-policy-wins", where=throttles_all)
def nearest_policy_wins(timeline: Timeline) -> Says:
    """throttling.nearest-policy-wins: a rate of a nearer level overrules another of its kind: dispatch is too fast
    with the other where that is looser, and too slow where it is tighter."""
    overruling = [one for one in timeline.limiters if one.level.overrules and not one.level.shared]
    limited = [one for one in overruling if one.rate.messages > 0 and one.rate.bytes <= 0]
    yield from each(limited, judge_kept, timeline)
    yield from each(limited, judge_gets_the_rate, timeline)
